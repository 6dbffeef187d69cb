/*-------------------------------------------------------------------------
 *
 * learn.h
 *	  What the worker learns where spin_time is auto.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LWTUNE_LEARN_H
#define LWTUNE_LEARN_H

#include "local.h"

LWTUNE_BEGIN_LOCAL

/* Forget everything. */
extern void learn_init(void);

/* Publish the settings of this process, and what is learned with them. */
extern void learn_publish(void);

/*
 * Look at what was seen, if it is time; returns the milliseconds until the
 * next time, or -1 if nothing learns.
 */
extern long learn_step(void);

LWTUNE_END_LOCAL

#endif							/* LWTUNE_LEARN_H */
