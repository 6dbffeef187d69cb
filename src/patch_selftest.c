/*-------------------------------------------------------------------------
 *
 * patch_selftest.c
 *	  Proves that calls of the server's functions arrive at the replacements.
 *
 * Each function is called once or more through its entry in the server, as
 * the server's own code calls it.  First the stubs lead to recorders, which
 * count and pass on; every function must have been seen as often as it was
 * called.  Then the stubs lead to the replacements themselves, and what one
 * function did must be visible to another.
 *
 * This also holds the table of what is redirected, since both come from the
 * same list.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "compat.h"
#include "lock.h"
#include "miscadmin.h"
#include "patch.h"
#include "storage/s_lock.h"
#include "utils/wait_event.h"

enum
{
#define TARGET(result, function, parameters, arguments) TARGET_##function,
#include LWTUNE_TARGETS_HEADER
#undef TARGET
	NTARGETS
};

#define TARGET(result, function, parameters, arguments) \
static result \
record_##function parameters \
{ \
	patch_targets[TARGET_##function].calls++; \
	return lwtune_##function arguments; \
}
#include LWTUNE_TARGETS_HEADER
#undef TARGET

PatchTarget patch_targets[] = {
#define TARGET(result, function, parameters, arguments) \
	{ \
		.name = #function, .replacement = lwtune_##function, .recorder = record_##function \
	},
#include LWTUNE_TARGETS_HEADER
#undef TARGET
};

const int	patch_ntargets = NTARGETS;

/* The function of the server, reached as any caller in the server reaches it. */
#define SERVER(name) ((__typeof__(&lwtune_##name)) patch_targets[TARGET_##name].entry)

static int	nvisited;

static void
count_visit(LWLock *lock, LWLockMode mode, void *context)
{
	if (lock == context && mode == LW_SHARED)
		nvisited++;
}

#define EXPECT(name, condition) \
	do { \
		if (!(condition)) \
			return patch_refuse(&patch_targets[TARGET_##name], \
								"self-test of %s failed: %s", #name, #condition); \
	} while (0)

/*
 * Use every function once, on locks that nobody else knows.  Effects are
 * checked where the replacements see only each other's.
 */
static bool
exercise(void)
{
	LWLock		lock;
	uint64		variable = 7;
	uint64		newval = 0;
	slock_t		spinlock;
	SpinDelayStatus delay;
	uint32		holdoff = InterruptHoldoffCount;
	int			spins;

	LWLockInitialize(&lock, 0);

	EXPECT(LWLockAcquire, SERVER(LWLockAcquire) (&lock, LW_SHARED));
	EXPECT(LWLockHeldByMe, SERVER(LWLockHeldByMe) (&lock));
	EXPECT(LWLockHeldByMeInMode, SERVER(LWLockHeldByMeInMode) (&lock, LW_SHARED));
	EXPECT(LWLockHeldByMeInMode, !SERVER(LWLockHeldByMeInMode) (&lock, LW_EXCLUSIVE));
	EXPECT(LWLockAnyHeldByMe, SERVER(LWLockAnyHeldByMe) (&lock, 1, sizeof(LWLock)));
	nvisited = 0;
	SERVER(ForEachLWLockHeldByMe) (count_visit, &lock);
	EXPECT(ForEachLWLockHeldByMe, nvisited == 1);
	EXPECT(LWLockConditionalAcquire, !SERVER(LWLockConditionalAcquire) (&lock, LW_EXCLUSIVE));
	SERVER(LWLockRelease) (&lock);
	EXPECT(LWLockRelease, !SERVER(LWLockHeldByMe) (&lock));

	EXPECT(LWLockAcquireOrWait, SERVER(LWLockAcquireOrWait) (&lock, LW_EXCLUSIVE));
	SERVER(LWLockUpdateVar) (&lock, &variable, 8);
	EXPECT(LWLockUpdateVar, variable == 8);
	EXPECT(LWLockWaitForVar, !SERVER(LWLockWaitForVar) (&lock, &variable, 7, &newval));
	EXPECT(LWLockWaitForVar, newval == 8);
	SERVER(LWLockReleaseClearVar) (&lock, &variable, 0);
	EXPECT(LWLockReleaseClearVar, variable == 0 && !SERVER(LWLockHeldByMe) (&lock));

	EXPECT(LWLockConditionalAcquire, SERVER(LWLockConditionalAcquire) (&lock, LW_EXCLUSIVE));
	HOLD_INTERRUPTS();			/* error recovery does so before it */
	SERVER(LWLockReleaseAll) ();
	RESUME_INTERRUPTS();
	RESUME_INTERRUPTS();
	EXPECT(LWLockReleaseAll, !SERVER(LWLockHeldByMe) (&lock));
	EXPECT(LWLockReleaseAll, InterruptHoldoffCount == holdoff);

	SpinLockInit(&spinlock);
	EXPECT(s_lock, SERVER(s_lock) (&spinlock, __FILE__, __LINE__, PG_FUNCNAME_MACRO) == 0);
	EXPECT(s_lock, !SpinLockFree(&spinlock));
	SpinLockRelease(&spinlock);

	spins = lwtune_spins_per_delay();
	SERVER(set_spins_per_delay) (500);
	EXPECT(set_spins_per_delay, lwtune_spins_per_delay() == 500);
	EXPECT(update_spins_per_delay, SERVER(update_spins_per_delay) (500) == 500);
	init_local_spin_delay(&delay);
	SERVER(perform_spin_delay) (&delay);
	EXPECT(perform_spin_delay, delay.spins == 1 && delay.delays == 0);
	SERVER(finish_spin_delay) (&delay);
	EXPECT(finish_spin_delay, lwtune_spins_per_delay() == 600);
	SERVER(set_spins_per_delay) (spins);

	/* an id that stands for a built-in lock is ignored */
	SERVER(LWLockRegisterTranche) (0, "lwtune self-test");
	EXPECT(GetLWLockIdentifier, strcmp(SERVER(GetLWLockIdentifier) (PG_WAIT_LWLOCK, LWTRANCHE_WAL_INSERT), "WALInsert") == 0);
	return true;
}

bool
selftest_recorders(void)
{
	for (int i = 0; i < patch_ntargets; i++)
		patch_targets[i].calls = 0;
	if (!exercise())
		return false;
	for (int i = 0; i < patch_ntargets; i++)
	{
		if (patch_targets[i].calls == 0)
			return patch_refuse(&patch_targets[i], "self-test: a call of %s did not arrive", patch_targets[i].name);
	}
	return true;
}

bool
selftest_replacements(void)
{
	return exercise();
}
