/*-------------------------------------------------------------------------
 *
 * patch_symbols.c
 *	  Finding the server's functions, its segments and its private state.
 *
 * Nothing here depends on offsets in a particular build.  Functions come from
 * the dynamic symbol table of the running executable.  Private variables have
 * no symbol; they are found by observation: use the stock functions in a known
 * way, and see which words of the data segment follow.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <dlfcn.h>
#include <link.h>

#include "miscadmin.h"
#include "patch.h"
#include "postmaster/postmaster.h"
#include "storage/lwlock.h"
#include "storage/spin.h"

/* lwlock.c's MAX_SIMUL_LWLOCKS, and the entries of its array */
#define STOCK_MAX_HELD 200

typedef struct StockHandle
{
	LWLock	   *lock;
	LWLockMode	mode;
} StockHandle;

/* Any function of the server that lwtune never redirects. */
#define SERVER_LANDMARK ((uintptr_t) PostmasterMain)

static int
find_segments(struct dl_phdr_info *info, size_t size, void *context)
{
	PatchServer *server = context;
	bool		is_server = false;

	for (int i = 0; i < info->dlpi_phnum; i++)
	{
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) &&
			SERVER_LANDMARK - (info->dlpi_addr + segment->p_vaddr) < segment->p_memsz)
			is_server = true;
	}
	if (!is_server)
		return 0;

	for (int i = 0; i < info->dlpi_phnum; i++)
	{
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type != PT_LOAD)
			continue;
		if (segment->p_flags & PF_X)
		{
			server->text = info->dlpi_addr + segment->p_vaddr;
			server->text_length = segment->p_filesz;
			server->text_offset = segment->p_offset;
		}
		else if (segment->p_flags & PF_W)
		{
			server->data = info->dlpi_addr + segment->p_vaddr;
			server->data_length = segment->p_memsz;
		}
	}
	return 1;
}

bool
patch_find_server(PatchServer *server)
{
	dl_iterate_phdr(find_segments, server);
	if (server->text == 0 || server->data == 0)
		return patch_refuse(NULL, "the segments of the server's executable were not found");
	return true;
}

/*
 * Fill in entry, size and jump_at of every target, and refuse those that are
 * missing, too short, not the server's own, or no start of a function.
 */
bool
patch_find_targets(const PatchServer *server)
{
	void	   *self = dlopen(NULL, RTLD_NOW);

	if (self == NULL)
		return patch_refuse(NULL, "the server's symbols cannot be read: %s", dlerror());

	for (int i = 0; i < patch_ntargets; i++)
	{
		PatchTarget *target = &patch_targets[i];
		void	   *address = dlsym(self, target->name);
		Dl_info		info;
		const ElfW(Sym) *symbol = NULL;
		size_t		pad;
		const char *foreign;

		if (address == NULL)
		{
			dlclose(self);
			return patch_refuse(target, "the server does not export %s", target->name);
		}
		if (dladdr1(address, &info, (void **) &symbol, RTLD_DL_SYMENT) == 0 ||
			symbol == NULL || info.dli_saddr != address)
		{
			dlclose(self);
			return patch_refuse(target, "the length of %s is not known", target->name);
		}
		target->entry = address;
		target->size = symbol->st_size;
		if ((uintptr_t) address - server->text >= server->text_length ||
			server->text_length - ((uintptr_t) address - server->text) < target->size)
		{
			dlclose(self);
			return patch_refuse(target, "%s is not in the server's executable: another library, %s, defines it",
								target->name, info.dli_fname ? info.dli_fname : "unknown");
		}

		pad = target->size >= 4 ? arch_landing_pad(target->entry) : 0;
		if (target->size < pad + arch_jump_size)
		{
			dlclose(self);
			return patch_refuse(target, "%s is %zu bytes long, too short for a jump of %zu",
								target->name, target->size, pad + arch_jump_size);
		}
		target->jump_at = target->entry + pad;

		foreign = arch_foreign_entry(target->jump_at, target->size - pad);
		if (foreign != NULL)
		{
			dlclose(self);
			return patch_refuse(target, "%s starts with %s: something else has changed it in the file",
								target->name, foreign);
		}
	}
	dlclose(self);
	return true;
}

/*
 * Take so many scratch locks, look for their addresses one behind the other.
 */
static uintptr_t
find_held_array(const PatchServer *server, LWLock *scratch, int nheld)
{
	uintptr_t	found = 0;

	for (uintptr_t at = server->data;
		 at + nheld * sizeof(StockHandle) <= server->data + server->data_length;
		 at += sizeof(void *))
	{
		const volatile StockHandle *handle = (const volatile StockHandle *) at;
		bool		same = true;

		for (int i = 0; i < nheld && same; i++)
			same = handle[i].lock == &scratch[i] && handle[i].mode == LW_EXCLUSIVE;
		if (same)
		{
			if (found != 0)
				return 0;		/* two of them: we do not know which */
			found = at;
		}
	}
	return found;
}

/*
 * Find lwlock.c's held_lwlocks and num_held_lwlocks, and s_lock.c's
 * spins_per_delay, by making the stock functions move them.
 */
bool
patch_find_private_state(PatchServer *server)
{
#define NSCRATCH 3
	LWLock		scratch[NSCRATCH];
	size_t		nwords = server->data_length / sizeof(int);
	const volatile int *words = (const volatile int *) server->data;
	uint8	   *candidate;
	uintptr_t	held = 0;
	uintptr_t	num = 0;
	uintptr_t	spins = 0;
	int			nnum = 0;
	int			nspins = 0;

	StaticAssertStmt(lengthof(server->private_state) == 3, "one range for each variable");

	if (server->data % sizeof(void *) != 0)
		return patch_refuse(NULL, "the server's data segment is not aligned");

	candidate = malloc(nwords);
	if (candidate == NULL)
		return patch_refuse(NULL, "out of memory");
	memset(candidate, 1, nwords);

	for (int i = 0; i < NSCRATCH; i++)
		LWLockInitialize(&scratch[i], 0);

	/* num_held_lwlocks is the word that reads 0, 1, 2, 3, 2, 1, 0 */
	for (int step = 0; step <= 2 * NSCRATCH; step++)
	{
		int			expected = step <= NSCRATCH ? step : 2 * NSCRATCH - step;

		if (step > 0 && step <= NSCRATCH)
			LWLockAcquire(&scratch[step - 1], LW_EXCLUSIVE);
		else if (step > NSCRATCH)
			LWLockRelease(&scratch[2 * NSCRATCH - step]);
		if (step == NSCRATCH)
			held = find_held_array(server, scratch, NSCRATCH);

		for (size_t i = 0; i < nwords; i++)
			candidate[i] &= words[i] == expected;
	}
	for (size_t i = 0; i < nwords; i++)
	{
		/* interrupts are held off as many times as locks are held */
		if (candidate[i] && &words[i] != (const volatile int *) &InterruptHoldoffCount)
		{
			num = (uintptr_t) &words[i];
			nnum++;
		}
	}

	/*
	 * spins_per_delay is the word that follows set_spins_per_delay().  The last
	 * value is what a postmaster starts with.
	 */
	memset(candidate, 1, nwords);
	for (int step = 0; step < 3; step++)
	{
		int			value = step == 0 ? 739 : step == 1 ? 401 : DEFAULT_SPINS_PER_DELAY;

		set_spins_per_delay(value);
		for (size_t i = 0; i < nwords; i++)
			candidate[i] &= words[i] == value;
	}
	for (size_t i = 0; i < nwords; i++)
	{
		if (candidate[i])
		{
			spins = (uintptr_t) &words[i];
			nspins++;
		}
	}
	free(candidate);

	if (held == 0 || nnum != 1)
		return patch_refuse(NULL, "the server's list of held locks was not found (%d candidates for its length)", nnum);
	if (nspins != 1)
		return patch_refuse(NULL, "the server's spins_per_delay was not found (%d candidates)", nspins);

	server->private_state[0] = (PatchRange) {"held_lwlocks", held, STOCK_MAX_HELD * sizeof(StockHandle)};
	server->private_state[1] = (PatchRange) {"num_held_lwlocks", num, sizeof(int)};
	server->private_state[2] = (PatchRange) {"spins_per_delay", spins, sizeof(int)};
	return true;
}
