/*-------------------------------------------------------------------------
 *
 * stat_slab.c
 *	  Counters: each process's own slab, and sums over all of them.
 *
 * See shared.h for who writes what.  Counters are 64 bits wide and only grow;
 * a reset notes the sums of that moment, which are subtracted afterwards.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "stat.h"
#include "utils/timestamp.h"

static PGPROC nobody;

StatSlab   *stat_slab = NULL;
PGPROC	   *stat_process = &nobody;

static StatSlab *
slab_without_process(void)
{
	return &lwtune_slabs[lwtune_shared->nslabs - 1];
}

/*
 * Make the slab of this process's PGPROC its own, if it has one.
 */
static void
stat_attach(void)
{
	if (MyProc == NULL || lwtune_shared == NULL || MyProc->pgprocno >= lwtune_shared->nslabs - 1)
	{
		stat_process = &nobody;
		stat_slab = NULL;
		return;
	}
	stat_slab = &lwtune_slabs[MyProc->pgprocno];
	stat_process = MyProc;
}

/*
 * Add to a counter that several processes may write at once.
 */
static void
add_shared(uint64 *counter, uint64 n)
{
	StaticAssertStmt(sizeof(pg_atomic_uint64) == sizeof(uint64), "a counter can be used as an atomic");
	/* no ordering is needed: it is only summed */
	pg_atomic_fetch_add_u64((pg_atomic_uint64 *) counter, n);
}

/*
 * For a process that is new, or has no PGPROC (yet, or any more).
 */
void
stat_add_slow(uint16 tranche, StatCounter counter, uint64 n)
{
	/* before shared memory exists there is nowhere to count */
	if (lwtune_shared == NULL)
		return;
	stat_attach();
	if (!stat_tracks(TRACK_COUNTS))
		return;
	if (stat_slab != NULL)
		stat_slab->tranche[tranche_slot(tranche)].count[counter] += n;
	else
		add_shared(&slab_without_process()->tranche[tranche_slot(tranche)].count[counter], n);
}

void
stat_add_wait(uint16 tranche, uint64 ns)
{
	int			slot = tranche_slot(tranche);
	StatTranche *mine;
	uint32		epoch;

	stat_add(tranche, STAT_wait_time, ns);
	if (MyProc != stat_process)
		return;					/* nobody without a PGPROC can wait */

	mine = &stat_slab->tranche[slot];
	epoch = pg_atomic_read_u32(&lwtune_shared->reset_epoch[slot]);
	if (mine->max_epoch != epoch)
	{
		mine->max_wait_time = ns;
		/* a reader that sees the new epoch must not see the old maximum */
		pg_write_barrier();
		mine->max_epoch = epoch;
	}
	else if (ns > mine->max_wait_time)
		mine->max_wait_time = ns;
}

static uint64
sum_counter(int slot, StatCounter counter)
{
	uint64		sum = 0;

	for (int i = 0; i < lwtune_shared->nslabs; i++)
		sum += *(volatile uint64 *) &lwtune_slabs[i].tranche[slot].count[counter];
	return sum;
}

/*
 * What was noted at the reset is read before the sums, which never shrink: a
 * reset in between makes a row too old by a moment, but never negative.
 */
void
stat_sum(int slot, StatSums *sums)
{
	uint32		epoch = pg_atomic_read_u32(&lwtune_shared->reset_epoch[slot]);

	sums->reset_time = (int64) pg_atomic_read_u64(&lwtune_shared->reset_time[slot]);
	for (int counter = 0; counter < STAT_NCOUNTERS; counter++)
	{
		uint64		noted = pg_atomic_read_u64(&lwtune_shared->reset_count[slot][counter]);

		pg_read_barrier();
		sums->count[counter] = sum_counter(slot, counter) - noted;
	}

	sums->max_wait_time = 0;
	for (int i = 0; i < lwtune_shared->nslabs; i++)
	{
		const volatile StatTranche *theirs = &lwtune_slabs[i].tranche[slot];

		if (theirs->max_epoch != epoch)
			continue;
		pg_read_barrier();
		sums->max_wait_time = Max(sums->max_wait_time, theirs->max_wait_time);
	}
}

void
stat_reset(int slot)
{
	for (int counter = 0; counter < STAT_NCOUNTERS; counter++)
		pg_atomic_write_u64(&lwtune_shared->reset_count[slot][counter], sum_counter(slot, counter));
	pg_atomic_fetch_add_u32(&lwtune_shared->reset_epoch[slot], 1);
	pg_atomic_write_u64(&lwtune_shared->reset_time[slot], (uint64) GetCurrentTimestamp());
}
