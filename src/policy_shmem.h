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

/* By the worker: this process's settings, learners[slot] where auto is set. */
extern void policy_publish(const SpinLearner *learners);

/* By the worker: what one learner says now. */
extern void policy_publish_learned(int slot, const SpinLearner *learner);

LWTUNE_END_LOCAL

#endif							/* LWTUNE_POLICY_SHMEM_H */
