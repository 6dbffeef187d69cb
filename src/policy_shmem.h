/*-------------------------------------------------------------------------
 *
 * policy_shmem.h
 *	  Settings and what was learned, into shared memory.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LWTUNE_POLICY_SHMEM_H
#define LWTUNE_POLICY_SHMEM_H

#include "local.h"
#include "policy.h"
#include "spin_policy.h"

LWTUNE_BEGIN_LOCAL

/* By the process that creates shared memory, before there are others. */
extern void policy_publish_initial(void);

/*
 * By the worker: this process's settings.  Where spin_time is auto, what is
 * learned stays as it is.
 */
extern void policy_publish(void);

/* By the worker: what was learned for a tranche where spin_time is auto. */
extern void policy_publish_learned(int slot, const SpinLearner *learner, int pace);

LWTUNE_END_LOCAL

#endif							/* LWTUNE_POLICY_SHMEM_H */
