/*-------------------------------------------------------------------------
 *
 * tranche.h
 *	  Tranches: their slots in shared memory, and their names.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LWTUNE_TRANCHE_H
#define LWTUNE_TRANCHE_H

#include "local.h"

LWTUNE_BEGIN_LOCAL

/*
 * A tranche's slot is its id, so that finding it costs the lock functions one
 * comparison.  Ids are given out in sequence from the number of built-in ones
 * (75 in 15) up; all from the last slot on share that slot, and are counted
 * and tuned together.
 */
#define TRANCHE_SLOTS 240
#define TRANCHE_OTHERS (TRANCHE_SLOTS - 1)
#define TRANCHE_OTHERS_NAME "(others)"

static inline int
tranche_slot(uint16 tranche)
{
	return tranche < TRANCHE_OTHERS ? tranche : TRANCHE_OTHERS;
}

/* Before the takeover: remember what the stock server calls its own. */
extern void tranche_remember_builtin(void);

/* At the creation of shared memory: publish what was named until then. */
extern void tranche_publish_requested(void);

/*
 * The name of a slot, copied into name (NAMEDATALEN bytes); false if no
 * tranche of that slot is known to any process.
 */
extern bool tranche_name(int slot, char *name);

/* Does any tranche bear that name, in any case? */
extern bool tranche_exists(const char *name);

/* Rises whenever a name is published. */
extern uint32 tranche_generation(void);

LWTUNE_END_LOCAL

#endif							/* LWTUNE_TRANCHE_H */
