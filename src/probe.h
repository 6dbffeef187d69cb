/*-------------------------------------------------------------------------
 *
 * probe.h
 *	  The server's USDT probes, fired from the replacements.
 *
 * The server's own probe sites are in the functions that are not executed any
 * more.  These have the same provider, names and arguments, so a script that
 * attaches to them by name finds them in lwtune.so.  Each has a semaphore of
 * its own here (see probe.c), so a probe that nobody watches costs a test of a
 * word and does not look up the tranche's name.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LWTUNE_PROBE_H
#define LWTUNE_PROBE_H

#include "local.h"

LWTUNE_BEGIN_LOCAL
#include "utils/probes.h"		/* empty macros if the server has no probes */
LWTUNE_END_LOCAL

#define LWTUNE_PROBE(PROBE, lock, mode) \
	do { \
		if (unlikely(TRACE_POSTGRESQL_LWLOCK_##PROBE##_ENABLED())) \
			TRACE_POSTGRESQL_LWLOCK_##PROBE(lwtune_GetLWLockIdentifier(PG_WAIT_LWLOCK, (lock)->tranche), mode); \
	} while (0)

#define LWTUNE_PROBE_RELEASE(lock) \
	do { \
		if (unlikely(TRACE_POSTGRESQL_LWLOCK_RELEASE_ENABLED())) \
			TRACE_POSTGRESQL_LWLOCK_RELEASE(lwtune_GetLWLockIdentifier(PG_WAIT_LWLOCK, (lock)->tranche)); \
	} while (0)

#endif							/* LWTUNE_PROBE_H */
