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
#include <sys/mman.h>

#include "miscadmin.h"
#include "patch.h"
#include "postmaster/postmaster.h"
#include "storage/lwlock.h"
#include "storage/spin.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

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

/*
 * Have the kernel map what will be read in one go, rather than in a fault for
 * every few pages.  It need not.
 */
static void
populate(uintptr_t start, size_t length)
{
	uintptr_t	page = text_page_size();
	uintptr_t	first = start - start % page;

	(void) madvise((void *) first, start + length - first, MADV_POPULATE_READ);
}

bool
patch_find_server(PatchServer *server)
{
	dl_iterate_phdr(find_segments, server);
	if (server->text == 0 || server->data == 0)
		return patch_refuse(NULL, "the segments of the server's executable were not found");
	populate(server->text, server->text_length);
	populate(server->data, server->data_length);
	return true;
}

/*
 * Fill in entry, size and jump_at of every target, and refuse those that are
 * missing, too short, or not the server's own.
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
 * Words of the server's data that may be the variable that we look for.
 */
typedef struct Candidates
{
	const volatile int **words;
	size_t		count;
} Candidates;

/* All words of that value. */
static bool
find_words(const PatchServer *server, int value, Candidates *candidates)
{
	const volatile int *word = (const volatile int *) server->data;
	const volatile int *end = word + server->data_length / sizeof(int);

	candidates->count = 0;
	candidates->words = malloc((end - word) * sizeof(*candidates->words));
	if (candidates->words == NULL)
		return patch_refuse(NULL, "out of memory");
	for (; word < end; word++)
	{
		if (*word == value)
			candidates->words[candidates->count++] = word;
	}
	return true;
}

/* Those of them that have this value now. */
static void
keep_words(Candidates *candidates, int value)
{
	size_t		kept = 0;

	for (size_t i = 0; i < candidates->count; i++)
	{
		if (*candidates->words[i] == value)
			candidates->words[kept++] = candidates->words[i];
	}
	candidates->count = kept;
}

static void
drop_word(Candidates *candidates, const volatile void *word)
{
	size_t		kept = 0;

	for (size_t i = 0; i < candidates->count; i++)
	{
		if (candidates->words[i] != word)
			candidates->words[kept++] = candidates->words[i];
	}
	candidates->count = kept;
}

/*
 * lwlock.c's held_lwlocks, and num_held_lwlocks, which is the word that
 * follows 3, 2, 1, 0, 1, 0 as scratch locks are released and taken.
 */
static bool
find_held_locks(PatchServer *server)
{
#define NSCRATCH 3
	LWLock		scratch[NSCRATCH];
	Candidates	candidates;
	uintptr_t	held;
	bool		found;

	for (int i = 0; i < NSCRATCH; i++)
	{
		LWLockInitialize(&scratch[i], 0);
		LWLockAcquire(&scratch[i], LW_EXCLUSIVE);
	}
	held = find_held_array(server, scratch, NSCRATCH);
	found = find_words(server, NSCRATCH, &candidates);
	for (int i = NSCRATCH - 1; i >= 0; i--)
	{
		LWLockRelease(&scratch[i]);
		if (found)
			keep_words(&candidates, i);
	}
	if (!found)
		return false;
	LWLockAcquire(&scratch[0], LW_EXCLUSIVE);
	keep_words(&candidates, 1);
	LWLockRelease(&scratch[0]);
	keep_words(&candidates, 0);

	/* interrupts are held off as many times as locks are held */
	drop_word(&candidates, &InterruptHoldoffCount);

	found = held != 0 && candidates.count == 1;
	if (found)
	{
		server->private_state[0] = (PatchRange) {"held_lwlocks", held, STOCK_MAX_HELD * sizeof(StockHandle)};
		server->private_state[1] = (PatchRange) {"num_held_lwlocks", (uintptr_t) candidates.words[0], sizeof(int)};
	}
	else
		patch_refuse(NULL, "the server's list of held locks was not found (%zu candidates for its length)",
					 candidates.count);
	free(candidates.words);
	return found;
}

/*
 * s_lock.c's spins_per_delay is the word that follows set_spins_per_delay().
 * The last value is the one that a postmaster starts with.
 */
static bool
find_spins_per_delay(PatchServer *server)
{
	Candidates	candidates;
	bool		found;

	set_spins_per_delay(739);
	found = find_words(server, 739, &candidates);
	if (found)
	{
		set_spins_per_delay(401);
		keep_words(&candidates, 401);
	}
	set_spins_per_delay(DEFAULT_SPINS_PER_DELAY);
	if (!found)
		return false;
	keep_words(&candidates, DEFAULT_SPINS_PER_DELAY);

	found = candidates.count == 1;
	if (found)
		server->private_state[2] = (PatchRange) {"spins_per_delay", (uintptr_t) candidates.words[0], sizeof(int)};
	else
		patch_refuse(NULL, "the server's spins_per_delay was not found (%zu candidates)",
					 candidates.count);
	free(candidates.words);
	return found;
}

/*
 * Find the variables that the replacements replace too.
 */
bool
patch_find_private_state(PatchServer *server)
{
	StaticAssertStmt(lengthof(server->private_state) == 3, "one range for each variable");

	if (server->data % sizeof(void *) != 0)
		return patch_refuse(NULL, "the server's data segment is not aligned");
	return find_held_locks(server) && find_spins_per_delay(server);
}
