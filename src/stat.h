/*-------------------------------------------------------------------------
 *
 * stat.h
 *	  Counting, as the lock functions do it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LWTUNE_STAT_H
#define LWTUNE_STAT_H

#include "local.h"
#include "shared.h"
#include "storage/proc.h"

LWTUNE_BEGIN_LOCAL

/*
 * This process's slab, and the PGPROC that makes it so.  stat_process is never
 * NULL, so that a process without a PGPROC, which MyProc tells, never takes
 * the fast path: another process may have its former slab by then.
 */
extern StatSlab *stat_slab;
extern PGPROC *stat_process;

extern void stat_add_slow(uint16 tranche, StatCounter counter, uint64 n);

/* Levels of tracking: one read of a line that only a reload writes. */
static inline bool
stat_tracks(TrackLevel level)
{
	return lwtune_shared->policy.track >= level;
}

/*
 * Count something that happened to a lock of a tranche.  Writes only to a line
 * of this process's own.
 */
static inline void
stat_add(uint16 tranche, StatCounter counter, uint64 n)
{
	if (unlikely(MyProc != stat_process))
		stat_add_slow(tranche, counter, n);
	else if (likely(stat_tracks(TRACK_COUNTS)))
		stat_slab->tranche[tranche_slot(tranche)].count[counter] += n;
}

/* A wait that took so many nanoseconds. */
extern void stat_add_wait(uint16 tranche, uint64 ns);

/* Sums over all processes since the last reset. */
typedef struct StatSums
{
	uint64		count[STAT_NCOUNTERS];
	uint64		max_wait_time;
	int64		reset_time;		/* TimestampTz */
} StatSums;

extern void stat_sum(int slot, StatSums *sums);
extern void stat_reset(int slot);

LWTUNE_END_LOCAL

#endif							/* LWTUNE_STAT_H */
