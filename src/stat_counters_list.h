/*
 * stat_counters_list.h
 *	  Every counter that a process keeps for each tranche.
 *
 * COUNTER(name): included once for each use, the enum and the names of the
 * columns of lwtune_stats among them, so a new counter is one line here and a
 * column in the view.  No include guard, on purpose.
 *
 * The first two are indexed by LWLockMode.  Those of an uncontended acquire
 * come first: with their neighbours they share one cache line.
 */
COUNTER(ex_acquire_count)		/* got it exclusively, in whatever way */
COUNTER(sh_acquire_count)		/* got it shared */
COUNTER(conditional_fail_count)	/* LWLockConditionalAcquire: was taken */
COUNTER(spin_acquire_count)		/* contended, had it without sleeping */
COUNTER(spin_fail_count)		/* spun in vain */
COUNTER(block_count)			/* slept */
COUNTER(dequeue_self_count)		/* queued, then did not need to */
COUNTER(spin_delay_count)		/* slept for the lock on the wait list */
COUNTER(wait_time)				/* nanoseconds asleep */
