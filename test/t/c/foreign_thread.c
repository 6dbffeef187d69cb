/*-------------------------------------------------------------------------
 *
 * foreign_thread.c
 *	  Another library that starts a thread, preloaded before lwtune.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "fmgr.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

static void *
wait_forever(void *argument)
{
	for (;;)
		pause();
	return NULL;
}

void
_PG_init(void)
{
	pthread_t	thread;
	sigset_t	all;
	sigset_t	before;

	/* the postmaster's signals are for its own thread */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&thread, NULL, wait_forever, NULL) != 0)
		elog(FATAL, "could not start a thread");
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}
