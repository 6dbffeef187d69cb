/*-------------------------------------------------------------------------
 *
 * shared.c
 *	  Asks for shared memory, sets it up, and lets go of it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "calibrate.h"
#include "miscadmin.h"
#include "policy_shmem.h"
#include "shared.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "storage/shmem.h"
#include "utils/timestamp.h"

LwtuneShared *lwtune_shared = NULL;
StatSlab   *lwtune_slabs = NULL;

static shmem_request_hook_type previous_request_hook = NULL;
static shmem_startup_hook_type previous_startup_hook = NULL;

/*
 * One slab for each process that can have a PGPROC and run code, and one for
 * all that have none.  (Prepared transactions' PGPROCs run nothing.)
 */
static int
number_of_slabs(void)
{
	return MaxBackends + NUM_AUXILIARY_PROCS + 1;
}

static Size
slabs_size(void)
{
	return mul_size(number_of_slabs(), sizeof(StatSlab));
}

static void
request_shared_memory(void)
{
	if (previous_request_hook)
		previous_request_hook();
	RequestAddinShmemSpace(add_size(MAXALIGN(sizeof(LwtuneShared)),
									add_size(slabs_size(), PG_CACHE_LINE_SIZE)));
}

/*
 * After a crash the postmaster detaches from shared memory and takes locks
 * while it creates it anew; the lock functions must not look at the old one.
 */
static void
forget_shared_memory(int code, Datum arg)
{
	lwtune_shared = NULL;
	lwtune_slabs = NULL;
}

static void
start_shared_memory(void)
{
	LwtuneShared *shared;
	StatSlab   *slabs;
	bool		found;
	TimestampTz now = GetCurrentTimestamp();

	if (previous_startup_hook)
		previous_startup_hook();

	StaticAssertStmt(sizeof(StatTranche) == 2 * 64, "a tranche's counters fill two cache lines");
	StaticAssertStmt(sizeof(StatSlab) <= 31 * 1024, "the bound on shared memory for each process");

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	shared = ShmemInitStruct("lwtune", sizeof(LwtuneShared), &found);
	if (!found)
	{
		memset(shared, 0, sizeof(LwtuneShared));
		SpinLockInit(&shared->names_lock);
		pg_atomic_init_u32(&shared->names_generation, 0);
		pg_atomic_init_u32(&shared->worker_procno, PG_UINT32_MAX);
		for (int slot = 0; slot < TRANCHE_SLOTS; slot++)
		{
			pg_atomic_init_u32(&shared->reset_epoch[slot], 0);
			pg_atomic_init_u64(&shared->reset_time[slot], (uint64) now);
			for (int counter = 0; counter < STAT_NCOUNTERS; counter++)
				pg_atomic_init_u64(&shared->reset_count[slot][counter], 0);
		}
		for (int i = 0; i < SPINNERS_SLOTS; i++)
			pg_atomic_init_u32(&shared->spinners[i].count, 0);
		shared->nslabs = number_of_slabs();
		shared->policy.pause_ns = calibrate_pause_ns();
	}

	slabs = ShmemInitStruct("lwtune counters", slabs_size() + PG_CACHE_LINE_SIZE, &found);
	if (!found)
		memset(slabs, 0, slabs_size() + PG_CACHE_LINE_SIZE);
	LWLockRelease(AddinShmemInitLock);

	/* from here on the lock functions count */
	lwtune_slabs = (StatSlab *) TYPEALIGN(PG_CACHE_LINE_SIZE, slabs);
	lwtune_shared = shared;
	on_shmem_exit(forget_shared_memory, (Datum) 0);

	tranche_publish_requested();
	policy_publish_initial();
}

void
shared_install_hooks(void)
{
	previous_request_hook = shmem_request_hook;
	shmem_request_hook = request_shared_memory;
	previous_startup_hook = shmem_startup_hook;
	shmem_startup_hook = start_shared_memory;
}
