/*-------------------------------------------------------------------------
 *
 * worker.h
 *	  The background worker: the one writer of the policy.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LWTUNE_WORKER_H
#define LWTUNE_WORKER_H

/* From _PG_init: have the postmaster start it. */
extern void worker_register(void) __attribute__((visibility("hidden")));

/* Found by name in the library. */
extern PGDLLEXPORT void lwtune_worker_main(Datum arg);

#endif							/* LWTUNE_WORKER_H */
