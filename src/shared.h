/*-------------------------------------------------------------------------
 *
 * shared.h
 *	  What lwtune keeps in shared memory.
 *
 * Who writes what:
 *	policy		the worker (the postmaster before there is one)
 *	names		whoever registers a tranche, under names_lock
 *	spinners	who spins, atomically
 *	reset_*		lwtune_reset(), atomically
 *	slabs		slab i by the process whose PGPROC has number i, and by nobody
 *				else; the last one by processes without a PGPROC, atomically.
 *				A slab is never cleared: a new process with the same number
 *				goes on counting where the last one stopped, which is what makes
 *				sums over live and ended processes exact.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LWTUNE_SHARED_H
#define LWTUNE_SHARED_H

#include "local.h"
#include "policy.h"
#include "port/atomics.h"
#include "storage/spin.h"
#include "tranche.h"

LWTUNE_BEGIN_LOCAL

typedef enum StatCounter
{
#define COUNTER(name) STAT_##name,
#include "stat_counters_list.h"
#undef COUNTER
	STAT_NCOUNTERS
} StatCounter;

/*
 * What one process counts for one tranche.  Two cache lines; the first holds
 * what an uncontended acquire and a plain wait touch.
 */
typedef struct StatTranche
{
	uint64		count[STAT_NCOUNTERS];
	uint64		max_wait_time;	/* nanoseconds, of reset number max_epoch */
	uint32		max_epoch;
	uint32		spin_fail[2];	/* for the learner: at the limit, exploring */
	uint32		spin_success[SPIN_BUCKETS]; /* by duration, see spin_policy.h */
} StatTranche;

typedef struct StatSlab
{
	/* rises whenever spin_fail or spin_success of any tranche did */
	uint32		spins_seen;
	char		pad[PG_CACHE_LINE_SIZE - sizeof(uint32)];
	StatTranche tranche[TRANCHE_SLOTS];
} StatSlab;

/* How many backends spin on the locks whose address has this hash. */
typedef union Spinners
{
	pg_atomic_uint32 count;
	char		pad[64];
} Spinners;

#define SPINNERS_SLOTS 256

typedef struct LwtuneShared
{
	/* read by every acquire, written on reload only */
	PolicyGlobal policy;
	char		pad[PG_CACHE_LINE_SIZE - sizeof(PolicyGlobal)];
	PolicyTranche tranche_policy[TRANCHE_SLOTS];

	slock_t		names_lock;
	pg_atomic_uint32 names_generation;
	bool		named[TRANCHE_SLOTS];
	char		names[TRANCHE_SLOTS][NAMEDATALEN];
	pg_atomic_uint32 worker_procno; /* of the worker, or PG_UINT32_MAX */

	pg_atomic_uint32 reset_epoch[TRANCHE_SLOTS];
	pg_atomic_uint64 reset_time[TRANCHE_SLOTS];
	pg_atomic_uint64 reset_count[TRANCHE_SLOTS][STAT_NCOUNTERS];

	Spinners	spinners[SPINNERS_SLOTS];

	int			nslabs;
} LwtuneShared;

/* NULL in a process that is not attached to this server's shared memory. */
extern LwtuneShared *lwtune_shared;
extern StatSlab *lwtune_slabs;

extern void shared_install_hooks(void);

LWTUNE_END_LOCAL

#endif							/* LWTUNE_SHARED_H */
