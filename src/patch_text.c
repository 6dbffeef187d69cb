/*-------------------------------------------------------------------------
 *
 * patch_text.c
 *	  Pages: the server's text, and an island of stubs near it.
 *
 * A page of text is never made writable where it stands.  A private copy of
 * the same page of the same file is mapped elsewhere, written, made executable
 * and only then moved over the original in one system call; the way back is
 * to map the file's page there again, also in one.  So no page is writable
 * and executable at the same time, none stays writable, no failure can leave
 * the text without permission to execute, and perf and gdb still see the
 * server's file in /proc/PID/maps.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "patch.h"

#ifndef PR_GET_MDWE
#define PR_GET_MDWE 66
#endif

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

/* How far apart the places are that are tried for the island. */
#define ISLAND_STEP ((uintptr_t) 1 << 20)

static int	server_file = -1;

size_t
text_page_size(void)
{
	return (size_t) sysconf(_SC_PAGESIZE);
}

static off_t
offset_in_file(const PatchServer *server, uintptr_t address)
{
	return (off_t) (server->text_offset + (address - server->text));
}

/*
 * The file that is running, even when a package upgrade has replaced it on
 * disk meanwhile.
 */
bool
text_open(void)
{
	server_file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (server_file < 0)
		return patch_refuse(NULL, "cannot open /proc/self/exe: %s", strerror(errno));
	return true;
}

void
text_close(void)
{
	if (server_file >= 0)
		close(server_file);
	server_file = -1;
}

/*
 * Does the memory hold what the file holds?  If not, *differs_at says where,
 * counted from start; on a read error it is SIZE_MAX.
 */
bool
text_equals_file(const PatchServer *server, uintptr_t start, size_t length, size_t *differs_at)
{
	uint8		buffer[4096];
	size_t		done = 0;

	while (done < length)
	{
		size_t		want = Min(sizeof(buffer), length - done);
		ssize_t		got = pread(server_file, buffer, want, offset_in_file(server, start + done));

		if (got <= 0)
		{
			/* the end of a file that has to be longer is no error by itself */
			if (got == 0)
				errno = ENODATA;
			*differs_at = SIZE_MAX;
			return false;
		}
		for (ssize_t i = 0; i < got; i++)
		{
			if (buffer[i] != ((const uint8 *) start)[done + i])
			{
				*differs_at = done + i;
				return false;
			}
		}
		done += got;
	}
	return true;
}

/*
 * Go through the whole dance on a copy that nobody executes, so that what the
 * kernel or a security module forbids shows before anything is touched.
 */
bool
text_protection_changes(const PatchServer *server)
{
	size_t		page = text_page_size();
	uintptr_t	start = server->text - server->text % page;
	PatchPages	rehearsal = {start, page, NULL, false};
	PatchPages	victim = {start, page, NULL, false};
	bool		ok;

	/* the kernel's own switch; a kernel that does not know it has it off */
	if (prctl(PR_GET_MDWE, 0, 0, 0, 0) > 0)
		return patch_refuse(NULL, "the process may not make written memory executable (PR_SET_MDWE)");

	if (!text_prepare(server, &victim))
		return false;
	if (!text_prepare(server, &rehearsal))
	{
		text_discard(&victim);
		return false;
	}
	((volatile uint8 *) rehearsal.aside)[0] ^= 0xff;
	ok = text_seal(&rehearsal);
	if (ok && mremap(rehearsal.aside, page, page, MREMAP_MAYMOVE | MREMAP_FIXED, victim.aside) == MAP_FAILED)
		ok = patch_refuse(NULL, "cannot move a page of executable memory: %s", strerror(errno));
	else if (ok)
		rehearsal.aside = NULL;
	text_discard(&rehearsal);
	text_discard(&victim);
	return ok;
}

/*
 * Map a writable private copy of the pages aside.
 */
bool
text_prepare(const PatchServer *server, PatchPages *pages)
{
	void	   *aside = mmap(NULL, pages->length, PROT_READ | PROT_WRITE, MAP_PRIVATE,
							 server_file, offset_in_file(server, pages->start));

	if (aside == MAP_FAILED)
		return patch_refuse(NULL, "cannot map a copy of the server's text: %s", strerror(errno));
	pages->aside = aside;
	return true;
}

/*
 * Make the copy executable and no longer writable.
 */
bool
text_seal(PatchPages *pages)
{
	if (mprotect(pages->aside, pages->length, PROT_READ | PROT_EXEC) != 0)
		return patch_refuse(NULL, "cannot make changed text executable: %s (SELinux execmod and systemd's MemoryDenyWriteExecute= forbid it)",
							strerror(errno));
	arch_text_written(pages->aside, pages->length);
	return true;
}

/*
 * Put the copy in the place of the original.
 */
bool
text_swap(PatchPages *pages)
{
	if (mremap(pages->aside, pages->length, pages->length,
			   MREMAP_MAYMOVE | MREMAP_FIXED, (void *) pages->start) == MAP_FAILED)
		return patch_refuse(NULL, "cannot move changed text into place: %s", strerror(errno));
	pages->aside = NULL;
	pages->swapped = true;
	arch_text_written((void *) pages->start, pages->length);
	return true;
}

/*
 * Put the file's own pages back.  True if the text is what the file holds.
 */
bool
text_restore(const PatchServer *server, PatchPages *pages)
{
	if (!pages->swapped)
		return true;
	if (mmap((void *) pages->start, pages->length, PROT_READ | PROT_EXEC,
			 MAP_PRIVATE | MAP_FIXED, server_file,
			 offset_in_file(server, pages->start)) == MAP_FAILED)
		return false;
	pages->swapped = false;
	arch_text_written((void *) pages->start, pages->length);
	return true;
}

void
text_discard(PatchPages *pages)
{
	if (pages->aside != NULL)
		munmap(pages->aside, pages->length);
	pages->aside = NULL;
}

/*
 * Map two pages that a near jump from anywhere in the text can reach.  The
 * heap grows up behind the server's data, so look below its text first.
 */
bool
island_map(const PatchServer *server, PatchIsland *island)
{
	size_t		length = 2 * text_page_size();
	uintptr_t	text_end = server->text + server->text_length;
	uintptr_t	step_mask = ~(ISLAND_STEP - 1);

	for (int below = 1; below >= 0; below--)
	{
		uintptr_t	hint = below ? server->text & step_mask : (server->data + server->data_length) & step_mask;

		for (;;)
		{
			void	   *map;
			uintptr_t	at;

			if (below)
			{
				if (hint < 2 * ISLAND_STEP || text_end - (hint - ISLAND_STEP) > arch_island_reach)
					break;
				hint -= ISLAND_STEP;
			}
			else
			{
				if (hint + ISLAND_STEP + length - server->text > arch_island_reach)
					break;
				hint += ISLAND_STEP;
			}

			map = mmap((void *) hint, length, PROT_READ | PROT_WRITE,
					   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
			if (map == MAP_FAILED)
			{
				if (errno == EEXIST)
					continue;
				return patch_refuse(NULL, "cannot map memory near the server's text: %s", strerror(errno));
			}

			/* old kernels take the address for a hint only */
			at = (uintptr_t) map;
			if ((at < server->text && text_end - at <= arch_island_reach) ||
				(at >= server->text && at + length - server->text <= arch_island_reach))
			{
				island->code = map;
				island->slots = (void **) ((uint8 *) map + text_page_size());
				return true;
			}
			munmap(map, length);
		}
	}
	return patch_refuse(NULL, "no free memory within reach of a near jump from the server's text");
}

bool
island_seal_code(PatchIsland *island)
{
	if (mprotect(island->code, text_page_size(), PROT_READ | PROT_EXEC) != 0)
		return patch_refuse(NULL, "cannot make the island of stubs executable: %s", strerror(errno));
	arch_text_written(island->code, text_page_size());
	return true;
}

bool
island_seal_slots(PatchIsland *island)
{
	if (mprotect(island->slots, text_page_size(), PROT_READ) != 0)
		return patch_refuse(NULL, "cannot write-protect the island of stubs: %s", strerror(errno));
	return true;
}

void
island_unmap(PatchIsland *island)
{
	if (island->code != NULL)
		munmap(island->code, 2 * text_page_size());
	island->code = NULL;
	island->slots = NULL;
}
