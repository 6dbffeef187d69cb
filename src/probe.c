/*-------------------------------------------------------------------------
 *
 * probe.c
 *	  The semaphores of the probes.
 *
 * A tracer finds a semaphore's address in the note of the probe's site and
 * adds one to it in every process that it watches.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "probe.h"

#ifdef _SDT_HAS_SEMAPHORES

#define SEMAPHORE(name) \
unsigned short postgresql_##name##_semaphore __attribute__((section(".probes"))) = 0

LWTUNE_BEGIN_LOCAL
SEMAPHORE(lwlock__acquire);
SEMAPHORE(lwlock__release);
SEMAPHORE(lwlock__wait__start);
SEMAPHORE(lwlock__wait__done);
SEMAPHORE(lwlock__condacquire);
SEMAPHORE(lwlock__condacquire__fail);
SEMAPHORE(lwlock__acquire__or__wait);
SEMAPHORE(lwlock__acquire__or__wait__fail);
LWTUNE_END_LOCAL

#endif							/* _SDT_HAS_SEMAPHORES */
