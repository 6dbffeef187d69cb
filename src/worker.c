/*-------------------------------------------------------------------------
 *
 * worker.c
 *	  The background worker: the one writer of the policy.
 *
 * It publishes the settings after each reload, looks again when a tranche gets
 * a name that a setting may have waited for, and, where spin_time is auto,
 * feeds what processes saw of their spins to the learners.  It sleeps without
 * a timeout unless some tranche learns.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <dlfcn.h>

#include "guc.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "policy_shmem.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "shared.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "worker.h"

/* Between two looks at what was seen: while something is, and while nothing. */
#define LEARN_MS 50
#define IDLE_MS 500

/* Learned so far, and the totals that were seen up to now. */
static SpinLearner learners[TRANCHE_SLOTS];
static SpinSample seen[TRANCHE_SLOTS];
static bool learns[TRANCHE_SLOTS];

/*
 * Say once, for each change of a setting, which of its names nothing bears.
 * A reload assigns all settings anew, so the text has to be compared.
 */
static void
log_unmatched(GucList *setting)
{
	if (setting->list == NULL ||
		(setting->logged != NULL && strcmp(setting->logged, setting->text) == 0))
		return;
	if (setting->logged != NULL)
		pfree(setting->logged);
	setting->logged = MemoryContextStrdup(TopMemoryContext, setting->text);

	for (int i = 0; i < setting->list->nelements; i++)
	{
		const PolicyElement *element = &setting->list->elements[i];

		if (!tranche_exists(element->name))
			ereport(LOG,
					(errmsg("lwtune.%s: no tranche is named \"%s\" so far; its value takes effect when there is one",
							setting->name, element->name)));
	}
}

/*
 * Totals over all processes, which only grow (modulo 2^32 in each process).
 */
static void
total_spins(int slot, SpinSample *total)
{
	memset(total, 0, sizeof(*total));
	for (int i = 0; i < lwtune_shared->nslabs; i++)
	{
		const volatile StatTranche *theirs = &lwtune_slabs[i].tranche[slot];

		total->fail += theirs->spin_fail[0];
		total->explore_fail += theirs->spin_fail[1];
		for (int bucket = 0; bucket < SPIN_BUCKETS; bucket++)
			total->success[bucket] += theirs->spin_success[bucket];
	}
}

static void
publish(void)
{
	policy_publish(learners);
	for (int slot = 0; slot < TRANCHE_SLOTS; slot++)
	{
		bool		now = lwtune_shared->tranche_policy[slot].spin_time == POLICY_SPIN_AUTO;

		/* what was seen before it learned is of no use */
		if (now && !learns[slot])
			total_spins(slot, &seen[slot]);
		learns[slot] = now;
	}
}

/*
 * The difference of two totals, one of which may have wrapped in between.
 */
static uint64
since(uint64 total, uint64 before)
{
	return (uint32) (total - before);
}

/*
 * Did any process spin since the last time?
 */
static bool
anything_seen(void)
{
	static uint64 last = 0;
	uint64		now = 0;

	for (int i = 0; i < lwtune_shared->nslabs; i++)
		now += *(volatile uint32 *) &lwtune_slabs[i].spins_seen;
	if (now == last)
		return false;
	last = now;
	return true;
}

static void
learn(void)
{
	for (int slot = 0; slot < TRANCHE_SLOTS; slot++)
	{
		SpinSample	total;
		SpinSample	sample;

		if (!learns[slot])
			continue;
		total_spins(slot, &total);
		sample.fail = since(total.fail, seen[slot].fail);
		sample.explore_fail = since(total.explore_fail, seen[slot].explore_fail);
		for (int bucket = 0; bucket < SPIN_BUCKETS; bucket++)
			sample.success[bucket] = since(total.success[bucket], seen[slot].success[bucket]);
		seen[slot] = total;
		if (spin_learn(&learners[slot], &sample))
			policy_publish_learned(slot, &learners[slot]);
	}
}

static bool
anything_learns(void)
{
	for (int slot = 0; slot < TRANCHE_SLOTS; slot++)
	{
		if (learns[slot])
			return true;
	}
	return false;
}

static void
forget_worker(int code, Datum arg)
{
	if (lwtune_shared != NULL)
		pg_atomic_write_u32(&lwtune_shared->worker_procno, PG_UINT32_MAX);
}

void
lwtune_worker_main(Datum arg)
{
	uint32		generation;
	long		timeout = LEARN_MS;

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
	BackgroundWorkerUnblockSignals();

	for (int slot = 0; slot < TRANCHE_SLOTS; slot++)
		spin_learner_init(&learners[slot]);

	before_shmem_exit(forget_worker, (Datum) 0);
	pg_atomic_write_u32(&lwtune_shared->worker_procno, MyProc->pgprocno);
	pg_memory_barrier();		/* names registered from now on set our latch */
	generation = tranche_generation();
	publish();
	log_unmatched(&guc_spin_time);
	log_unmatched(&guc_max_spinners);

	while (!ShutdownRequestPending)
	{
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
			publish();
			log_unmatched(&guc_spin_time);
			log_unmatched(&guc_max_spinners);
			timeout = LEARN_MS;
		}
		if (tranche_generation() != generation)
		{
			generation = tranche_generation();
			publish();
		}
		if (anything_learns())
		{
			if (anything_seen())
			{
				learn();
				timeout = LEARN_MS;
			}
			else
				timeout = Min(timeout * 2, IDLE_MS);
		}

		(void) WaitLatch(MyLatch,
						 WL_LATCH_SET | WL_EXIT_ON_PM_DEATH | (anything_learns() ? WL_TIMEOUT : 0),
						 timeout, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}

	/* not an error, but be started again if the server goes on */
	proc_exit(1);
}

/*
 * The library may have been preloaded by a path that is not searched for a
 * plain name; give the worker the file that is loaded.
 */
static const char *
library_name(void)
{
	Dl_info		info;

	if (dladdr((void *) lwtune_worker_main, &info) != 0 && info.dli_fname != NULL &&
		is_absolute_path(info.dli_fname) && strlen(info.dli_fname) < BGW_MAXLEN)
		return info.dli_fname;
	return "lwtune";
}

void
worker_register(void)
{
	BackgroundWorker worker;

	memset(&worker, 0, sizeof(worker));
	worker.bgw_flags = BGWORKER_SHMEM_ACCESS;
	worker.bgw_start_time = BgWorkerStart_PostmasterStart;
	worker.bgw_restart_time = 1;
	strlcpy(worker.bgw_name, "lwtune worker", BGW_MAXLEN);
	strlcpy(worker.bgw_type, "lwtune worker", BGW_MAXLEN);
	strlcpy(worker.bgw_library_name, library_name(), BGW_MAXLEN);
	strlcpy(worker.bgw_function_name, "lwtune_worker_main", BGW_MAXLEN);
	RegisterBackgroundWorker(&worker);
}
