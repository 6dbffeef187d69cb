/*-------------------------------------------------------------------------
 *
 * lock.h
 *	  The replacements of the server's lock functions.
 *
 * They carry the server's names with a prefix, so that a profile or a stack
 * trace still reads.  Contracts are the server's: see lwlock.c and s_lock.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LWTUNE_LOCK_H
#define LWTUNE_LOCK_H

#include "compat.h"
#include "local.h"
#include "storage/lwlock.h"
#include "storage/spin.h"

LWTUNE_BEGIN_LOCAL

#define TARGET(result, name, parameters, arguments) extern result lwtune_##name parameters;
#include LWTUNE_TARGETS_HEADER
#undef TARGET

/* the value that set_spins_per_delay() sets, for the self-test */
extern int	lwtune_spins_per_delay(void);

LWTUNE_END_LOCAL

#endif							/* LWTUNE_LOCK_H */
