/*-------------------------------------------------------------------------
 *
 * ledger.c
 *	  A client that writes down what the server told it of each row.
 *
 * ledger WRITER FILE CONNINFO
 *
 * Inserts (WRITER, 1), (WRITER, 2), ... into the table "ledger", one row in each
 * transaction, and adds a line to FILE for each, after the server's answer and
 * before the next row:
 *
 *	+ n		the server said that it is committed: it must be there for ever
 *	- n		the server said that it is not: it must never be there
 *	? n		the connection was lost meanwhile: nobody knows
 *
 * A lost connection is made again; SIGTERM ends it between two rows.
 *
 *-------------------------------------------------------------------------
 */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libpq-fe.h>

static volatile sig_atomic_t stop = 0;

static void
handle_term(int signo)
{
	(void) signo;
	stop = 1;
}

static void
ignore_notice(void *arg, const char *message)
{
	(void) arg;
	(void) message;
}

static PGconn *
connect_again(const char *conninfo)
{
	PGconn	   *conn = NULL;

	while (!stop)
	{
		conn = PQconnectdb(conninfo);
		if (PQstatus(conn) == CONNECTION_OK)
		{
			PQsetNoticeProcessor(conn, ignore_notice, NULL);
			return conn;
		}
		PQfinish(conn);
		usleep(20 * 1000);
	}
	return NULL;
}

/*
 * Run one command.  True if its answer is the command tag that is expected.
 */
static bool
run(PGconn *conn, const char *command, const char *tag)
{
	PGresult   *result = PQexec(conn, command);
	bool		told = PQresultStatus(result) == PGRES_COMMAND_OK &&
		strcmp(PQcmdStatus(result), tag) == 0;

	PQclear(result);
	return told;
}

/*
 * One row, in one of several shapes of a transaction.  True if the server said
 * that it is committed.
 */
static bool
insert(PGconn *conn, const char *writer, long n)
{
	char		command[128];

	snprintf(command, sizeof(command), "INSERT INTO ledger VALUES (%s, %ld)", writer, n);
	switch (n % 4)
	{
		case 0:
			return run(conn, command, "INSERT 0 1");
		case 1:
			return run(conn, "BEGIN", "BEGIN") &&
				run(conn, "SAVEPOINT s", "SAVEPOINT") &&
				run(conn, command, "INSERT 0 1") &&
				run(conn, "RELEASE s", "RELEASE") &&
				run(conn, "COMMIT", "COMMIT");
		case 2:
			/* not committed, and said so */
			if (run(conn, "BEGIN", "BEGIN") && run(conn, command, "INSERT 0 1"))
				run(conn, "ROLLBACK", "ROLLBACK");
			return false;
		default:
			return run(conn, "BEGIN", "BEGIN") &&
				run(conn, command, "INSERT 0 1") &&
				run(conn, "COMMIT", "COMMIT");
	}
}

int
main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = handle_term};
	PGconn	   *conn = NULL;
	int			file;

	if (argc != 4 || (file = open(argv[2], O_WRONLY | O_CREAT | O_APPEND, 0600)) < 0)
	{
		fprintf(stderr, "usage: ledger WRITER FILE CONNINFO\n");
		return 2;
	}
	sigaction(SIGTERM, &action, NULL);

	for (long n = 1; !stop; n++)
	{
		char		line[32];
		char		outcome;
		int			length;

		if (conn == NULL && (conn = connect_again(argv[3])) == NULL)
			break;
		if (insert(conn, argv[1], n))
			outcome = '+';
		else if (PQstatus(conn) != CONNECTION_OK)
			outcome = '?';
		else
		{
			outcome = '-';
			/* a transaction that failed may still be open */
			if (PQtransactionStatus(conn) != PQTRANS_IDLE)
				run(conn, "ROLLBACK", "ROLLBACK");
		}
		if (PQstatus(conn) != CONNECTION_OK)
		{
			PQfinish(conn);
			conn = NULL;
		}
		length = snprintf(line, sizeof(line), "%c %ld\n", outcome, n);
		if (write(file, line, length) != length)
		{
			perror(argv[2]);
			return 1;
		}
		/* each check reads all rows, so there should not be too many */
		usleep(2000);
	}
	if (conn != NULL)
		PQfinish(conn);
	return 0;
}
