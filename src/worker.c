/*-------------------------------------------------------------------------
 *
 * worker.c
 *	  The background worker: the one writer of the policy.
 *
 * It publishes the settings after each reload, looks again when a tranche gets
 * a name that a setting may have waited for, and learns where spin_time is
 * auto (learn.c).  It sleeps without a timeout unless some tranche learns.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <dlfcn.h>

#include "guc.h"
#include "learn.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "shared.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "worker.h"

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

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
	BackgroundWorkerUnblockSignals();

	learn_init();
	before_shmem_exit(forget_worker, (Datum) 0);
	pg_atomic_write_u32(&lwtune_shared->worker_procno, MyProc->pgprocno);
	pg_memory_barrier();		/* names registered from now on set our latch */
	generation = tranche_generation();
	learn_publish();
	log_unmatched(&guc_spin_time);
	log_unmatched(&guc_max_spinners);

	while (!ShutdownRequestPending)
	{
		long		timeout;

		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
			learn_publish();
			log_unmatched(&guc_spin_time);
			log_unmatched(&guc_max_spinners);
		}
		if (tranche_generation() != generation)
		{
			generation = tranche_generation();
			learn_publish();
		}
		timeout = learn_step();

		(void) WaitLatch(MyLatch,
						 WL_LATCH_SET | WL_EXIT_ON_PM_DEATH | (timeout >= 0 ? WL_TIMEOUT : 0),
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
