/*-------------------------------------------------------------------------
 *
 * spin_wait.c
 *	  Who may spin for a lock, how long, and what came of it.
 *
 * Only a process that failed to get the lock comes here.  The spin itself is
 * in lock_core.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "port/pg_bitutils.h"
#include "spin_wait.h"
#include "stat.h"
#include "storage/pg_shmem.h"

/*
 * The count of spinners of a lock has a line of its own, away from the lock:
 * counting must not take the line that the holder needs.  Locks that share a
 * slot share its limit, so a lock may have fewer spinners than allowed, never
 * more.  A lock in dynamic shared memory has another address in each process,
 * but the same place within its page.
 */
static pg_atomic_uint32 *
spinners_of(LWLock *lock)
{
	uintptr_t	address = (uintptr_t) lock;
	uintptr_t	main_start = (uintptr_t) UsedShmemSegAddr;
	uint32		hash;

	if (address - main_start >= ((PGShmemHeader *) UsedShmemSegAddr)->totalsize)
		address = (address & 0xfff) | (uintptr_t) lock->tranche << 12;
	hash = (uint32) ((address >> 4) * UINT64CONST(0x9e3779b97f4a7c15) >> 32);
	return &lwtune_shared->spinners[hash % SPINNERS_SLOTS].count;
}

void
spin_begin(LWLock *lock, SpinWait *spin)
{
	/* spread over locks and tranches, so a plain count is random enough */
	static uint32 waits = 0;
	const PolicyTranche *policy;
	uint32		explore_every;
	uint32		limit;

	spin->budget = 0;
	spin->spent = 0;
	spin->exploring = false;
	if (lwtune_shared == NULL)
		return;

	policy = &lwtune_shared->tranche_policy[tranche_slot(lock->tranche)];
	spin->budget = policy->spin_pauses;
	spin->step = Max(policy->look_pauses, 1);
	explore_every = policy->explore_every;
	if (explore_every != 0 && ++waits % explore_every == 0)
	{
		spin->budget = policy->explore_pauses;
		spin->exploring = true;
	}
	if (spin->budget == 0)
		return;

	limit = policy->max_spinners;
	spin->spinners = spinners_of(lock);
	/* no ordering is needed: this protects nothing but processor time */
	if (pg_atomic_read_u32(spin->spinners) >= limit)
		spin->budget = 0;
	else if (pg_atomic_fetch_add_u32(spin->spinners, 1) >= limit)
	{
		pg_atomic_fetch_sub_u32(spin->spinners, 1);
		spin->budget = 0;
	}
}

/*
 * The learner's bucket for a spin of so many pauses.
 */
static int
bucket_of(uint32 pauses)
{
	uint32		shortest = Max(lwtune_shared->policy.bucket_pauses, 1);
	int			bucket = 0;

	if (pauses > shortest)
		bucket = pg_leftmost_one_pos32((pauses - 1) / shortest) + 1;
	return Min(bucket, SPIN_BUCKETS - 1);
}

void
spin_end(LWLock *lock, SpinWait *spin, bool success)
{
	uint16		tranche = lock->tranche;
	StatTranche *mine;

	pg_atomic_fetch_sub_u32(spin->spinners, 1);
	stat_add(tranche, success ? STAT_spin_acquire_count : STAT_spin_fail_count, 1);

	/* what the learner wants to know, whatever is tracked */
	if (MyProc != stat_process)
		return;
	mine = &stat_slab->tranche[tranche_slot(tranche)];
	if (success)
		mine->spin_success[bucket_of(spin->spent)]++;
	else
		mine->spin_fail[spin->exploring ? 1 : 0]++;
	stat_slab->spins_seen++;
}
