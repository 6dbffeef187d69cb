/*-------------------------------------------------------------------------
 *
 * tranche.c
 *	  The names of tranches, for every process.
 *
 * In a stock server of this major the name of an extension's tranche is known
 * only in processes that registered it.  lwtune replaces the function that
 * registers and the one that looks up, since they share a private table: a
 * name that any process registers is published in shared memory, and every
 * process finds it there.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lock.h"
#include "miscadmin.h"
#include "policy_parse.h"
#include "shared.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "storage/shmem.h"
#include "tranche.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

/* what the stock server calls its own tranches */
static const char *builtin_names[LWTRANCHE_FIRST_USER_DEFINED];

/* registered in this process, by id less LWTRANCHE_FIRST_USER_DEFINED */
static const char **registered = NULL;
static int	nregistered = 0;

void
tranche_remember_builtin(void)
{
	StaticAssertStmt(LWTRANCHE_FIRST_USER_DEFINED < TRANCHE_OTHERS,
					 "every built-in tranche has a slot");
	for (int id = 0; id < LWTRANCHE_FIRST_USER_DEFINED; id++)
		builtin_names[id] = GetLWLockIdentifier(PG_WAIT_LWLOCK, id);
}

/*
 * Tell every process, and the worker, for which a setting may have waited.
 */
static void
publish(int id, const char *name)
{
	int			slot = tranche_slot(id);
	uint32		worker;

	if (lwtune_shared == NULL || slot == TRANCHE_OTHERS)
		return;

	SpinLockAcquire(&lwtune_shared->names_lock);
	if (lwtune_shared->named[slot] &&
		strncmp(lwtune_shared->names[slot], name, NAMEDATALEN - 1) == 0)
	{
		SpinLockRelease(&lwtune_shared->names_lock);
		return;
	}
	strlcpy(lwtune_shared->names[slot], name, NAMEDATALEN);
	lwtune_shared->named[slot] = true;
	SpinLockRelease(&lwtune_shared->names_lock);

	/* full barrier: the worker sees the name if it sees the generation */
	pg_atomic_fetch_add_u32(&lwtune_shared->names_generation, 1);
	worker = pg_atomic_read_u32(&lwtune_shared->worker_procno);
	if (worker != PG_UINT32_MAX && MyProc != NULL)
		SetLatch(&ProcGlobal->allProcs[worker].procLatch);
}

/*
 * Names that were requested with RequestNamedLWLockTranche() are registered
 * from within lwlock.c, which does not call the replacement.
 */
void
tranche_publish_requested(void)
{
	for (int i = 0; i < NamedLWLockTrancheRequests; i++)
		publish(NamedLWLockTrancheArray[i].trancheId, NamedLWLockTrancheArray[i].trancheName);
}

bool
tranche_name(int slot, char *name)
{
	bool		known;

	if (slot == TRANCHE_OTHERS)
		strlcpy(name, TRANCHE_OTHERS_NAME, NAMEDATALEN);
	else if (slot < LWTRANCHE_FIRST_USER_DEFINED)
	{
		strlcpy(name, builtin_names[slot], NAMEDATALEN);
		/* ids of locks that former majors had */
		return name[0] != '<';
	}
	else
	{
		SpinLockAcquire(&lwtune_shared->names_lock);
		known = lwtune_shared->named[slot];
		memcpy(name, lwtune_shared->names[slot], NAMEDATALEN);
		SpinLockRelease(&lwtune_shared->names_lock);
		return known;
	}
	return true;
}

bool
tranche_exists(const char *name)
{
	for (int slot = 0; slot < TRANCHE_SLOTS; slot++)
	{
		char		theirs[NAMEDATALEN];

		if (tranche_name(slot, theirs) && policy_names_equal(theirs, name))
			return true;
	}
	return false;
}

uint32
tranche_generation(void)
{
	return pg_atomic_read_u32(&lwtune_shared->names_generation);
}

/*
 * As in the server: the name must live as long as the process.
 */
void
lwtune_LWLockRegisterTranche(int tranche_id, const char *tranche_name)
{
	int			index = tranche_id - LWTRANCHE_FIRST_USER_DEFINED;

	if (index < 0)
		return;

	if (index >= nregistered)
	{
		int			want = Max(16, nregistered * 2);

		while (want <= index)
			want *= 2;
		if (registered == NULL)
			registered = MemoryContextAlloc(TopMemoryContext, want * sizeof(char *));
		else
			registered = repalloc(registered, want * sizeof(char *));
		memset(registered + nregistered, 0, (want - nregistered) * sizeof(char *));
		nregistered = want;
	}
	registered[index] = tranche_name;
	publish(tranche_id, tranche_name);
}

/*
 * The name of a tranche for pg_stat_activity.wait_event and for messages.
 */
const char *
lwtune_GetLWLockIdentifier(uint32 classId, uint16 eventId)
{
	int			index = eventId - LWTRANCHE_FIRST_USER_DEFINED;

	Assert(classId == PG_WAIT_LWLOCK);
	if (index < 0)
		return builtin_names[eventId];
	if (index < nregistered && registered[index] != NULL)
		return registered[index];
	for (int i = 0; NamedLWLockTrancheArray != NULL && i < NamedLWLockTrancheRequests; i++)
	{
		if (NamedLWLockTrancheArray[i].trancheId == eventId)
			return NamedLWLockTrancheArray[i].trancheName;
	}

	/*
	 * Registered elsewhere.  Without the lock: a slot is named once and, but
	 * for an extension that renames its tranche, stays as it is; the last byte
	 * is always zero.
	 */
	if (lwtune_shared != NULL && eventId < TRANCHE_OTHERS && lwtune_shared->named[eventId])
		return lwtune_shared->names[eventId];
	return "extension";
}
