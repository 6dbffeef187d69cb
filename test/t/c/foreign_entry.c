/*-------------------------------------------------------------------------
 *
 * foreign_entry.c
 *	  Another library that changes the server's text, preloaded before lwtune.
 *
 * FOREIGN_ENTRY=function:offset:byte writes that byte (hexadecimal) so many
 * bytes behind the start of an exported function of the server.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fmgr.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

void
_PG_init(void)
{
	const char *spec = getenv("FOREIGN_ENTRY");
	char		function[NAMEDATALEN];
	int			offset;
	unsigned	byte;
	uint8	   *at;
	uintptr_t	page = (uintptr_t) sysconf(_SC_PAGESIZE);
	void	   *start;

	if (spec == NULL)
		return;
	if (sscanf(spec, "%63[^:]:%d:%x", function, &offset, &byte) != 3)
		elog(FATAL, "FOREIGN_ENTRY is wrong: %s", spec);
	at = dlsym(NULL, function);
	if (at == NULL)
		elog(FATAL, "there is no function %s", function);
	at += offset;
	start = (void *) ((uintptr_t) at & ~(page - 1));
	if (mprotect(start, page, PROT_READ | PROT_WRITE) != 0)
		elog(FATAL, "could not change the server's text: %m");
	*at = byte;
	if (mprotect(start, page, PROT_READ | PROT_EXEC) != 0)
		elog(FATAL, "could not protect the server's text again: %m");
}
