#
# test/workdir.sh
#	  A private folder to build in, and throw-away servers in it (sourced).
#
# initdb and postgres refuse root, and the tree may lie where an unprivileged
# user cannot read.  So everything happens in a copy below /tmp (a short path,
# for the sockets), owned by "postgres" when root calls and by the caller
# otherwise.  Nothing is installed: "make install" goes to a staging folder, and
# the servers find it by Debian's setting extension_destdir, which does not cover
# a library's bare name: so dynamic_library_path has it too.
#
#	workdir_make				make the folder and copy the tree
#	build_and_stage [make args]	build there, install into the staging folder
#	server_start NAME [LINE]...	initdb and start; each LINE goes to postgresql.conf;
#								PGHOST and so on then name this server
#	server_stop NAME
#	psql_run [psql args]		psql without anybody's settings
#	run_as COMMAND				run it as the unprivileged user
#	guard SECONDS COMMAND		the same, with a time limit where nobody is watching
#	background COMMAND			the same, behind; its pid is in $!
#
# Folders: LWT_WORK, and below it LWT_SRC, LWT_STAGE, LWT_LOG.  A script that
# another one of these calls finds LWT_WORK set and uses what is there.
# KEEP=1 keeps the folder.
#

lwt_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
lwt_servers=()
lwt_children=()
lwt_owner=

# Neither a caller's make nor a user's connection settings reach in here.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
for lwt_var in $(compgen -e PG); do
	case $lwt_var in
		PG_*) ;;
		*) unset "$lwt_var" ;;
	esac
done
export LC_ALL=C

: "${PG_CONFIG:=/usr/lib/postgresql/15/bin/pg_config}"
export PG_CONFIG

say()
{
	printf '%s\n' "$*" >&2
}

die()
{
	say "$(basename "$0"): $*"
	exit 1
}

lwt_find_server()
{
	LWT_BIN=$("$PG_CONFIG" --bindir) || die "PG_CONFIG=$PG_CONFIG does not run; test/setup installs what is missing"
	LWT_PGXS=$(dirname "$("$PG_CONFIG" --pgxs)")/../..
	LWT_PKGLIBDIR=$("$PG_CONFIG" --pkglibdir)
	[ -x "$LWT_BIN/postgres" ] || die "no server in $LWT_BIN; test/setup installs what is missing"
	grep -q extension_destdir "$LWT_BIN/postgres" ||
		die "$LWT_BIN/postgres has no setting extension_destdir (Debian's has), so it cannot load what is not installed"
	PATH=$LWT_BIN:$PATH
	export PATH LWT_BIN LWT_PGXS LWT_PKGLIBDIR
}

# setpriv replaces itself by the command, so that $! is the command's own pid.
lwt_privileges()
{
	lwt_as=()
	if [ "$(id -u)" -eq 0 ]; then
		local user=postgres

		id -u "$user" >/dev/null 2>&1 || user=nobody
		lwt_as=(setpriv --reuid="$user" --regid="$(id -g "$user")" --init-groups)
	fi
}

run_as()
{
	${lwt_as[@]+"${lwt_as[@]}"} "$@"
}

# A time limit takes the command out of the terminal's process group, and with
# it out of reach of Ctrl-C: so only without a terminal.
guard()
{
	local seconds=$1

	shift
	if [ -t 0 ] || [ -t 1 ]; then
		run_as "$@"
	else
		timeout -k 20 "$seconds" ${lwt_as[@]+"${lwt_as[@]}"} "$@"
	fi
}

background()
{
	${lwt_as[@]+"${lwt_as[@]}"} "$@" &
	lwt_children+=($!)
}

# What git knows and what it does not ignore; without git, all but products.
lwt_list_tree()
{
	local file

	if git -c safe.directory="$lwt_root" -C "$lwt_root" rev-parse --show-prefix >/dev/null 2>&1; then
		git -c safe.directory="$lwt_root" -C "$lwt_root" \
			ls-files -z --cached --others --exclude-standard |
			while IFS= read -r -d '' file; do
				# deleted but not committed yet
				if [ -e "$lwt_root/$file" ] || [ -L "$lwt_root/$file" ]; then
					printf '%s\0' "$file"
				fi
			done
	else
		(cd "$lwt_root" && find . -name .git -prune -o -type f \
			! -name '*.o' ! -name '*.so' ! -name '*.bc' -print0)
	fi
}

workdir_make()
{
	local user

	lwt_find_server
	lwt_privileges

	if [ -z "${LWT_WORK:-}" ]; then
		lwt_owner=yes
		LWT_WORK=$(mktemp -d /tmp/lwt.XXXXXX)
		# before anything is put there, so that nothing can be left behind
		trap lwt_cleanup EXIT
		user=${lwt_as[1]:-}
		[ -z "$user" ] || chown "${user#--reuid=}:" "$LWT_WORK"
	else
		trap lwt_cleanup EXIT
	fi
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM

	LWT_SRC=$LWT_WORK/src
	LWT_STAGE=$LWT_WORK/stage
	LWT_LOG=$LWT_WORK/log
	HOME=$LWT_WORK
	export LWT_WORK LWT_SRC LWT_STAGE LWT_LOG HOME
	cd "$LWT_WORK" || exit 1

	if [ -n "$lwt_owner" ]; then
		run_as mkdir "$LWT_SRC" "$LWT_STAGE" "$LWT_LOG"
		# with extension_destdir set, the server wants this folder to be there
		run_as mkdir -p "$LWT_STAGE$("$PG_CONFIG" --sharedir)/extension"
		lwt_list_tree | tar -C "$lwt_root" --null -T - -cf - | run_as tar -C "$LWT_SRC" -xf -
	fi
}

lwt_cleanup()
{
	local status=$? name pid

	trap - EXIT
	trap '' HUP INT TERM
	set +e
	for pid in ${lwt_children[@]+"${lwt_children[@]}"}; do
		kill "$pid" 2>/dev/null
	done
	for name in ${lwt_servers[@]+"${lwt_servers[@]}"}; do
		server_stop "$name"
	done
	cd /
	if [ -n "$lwt_owner" ]; then
		# servers that a test started below the folder and did not live to stop
		find "$LWT_WORK" -name postmaster.pid 2>/dev/null | while read -r pid; do
			run_as "$LWT_BIN/pg_ctl" -D "$(dirname "$pid")" -m immediate -t 20 stop >/dev/null 2>&1
		done
		if [ -n "${KEEP:-}" ]; then
			say "kept: $LWT_WORK"
		else
			rm -rf "$LWT_WORK"
		fi
	fi
	exit "$status"
}

# lwt_logged LOG COMMAND: run it into the log; if it fails, show the log's end.
lwt_logged()
{
	local log=$1

	shift
	if ! run_as "$@" >>"$log" 2>&1; then
		say "failed: $*"
		tail -n 40 "$log" >&2
		return 1
	fi
}

build_and_stage()
{
	local dir log=$LWT_LOG/build.log

	for dir in "$LWT_SRC" "$LWT_SRC/test/torture"; do
		[ -f "$dir/Makefile" ] || continue
		lwt_logged "$log" make -C "$dir" PG_CONFIG="$PG_CONFIG" "$@" all || return 1
		lwt_logged "$log" make -C "$dir" PG_CONFIG="$PG_CONFIG" "$@" DESTDIR="$LWT_STAGE" install || return 1
	done
}

server_start()
{
	local name=$1 dir=$LWT_WORK/$1 log=$LWT_LOG/$1.log line

	shift
	rm -rf "$dir"
	run_as mkdir "$dir"
	lwt_logged "$LWT_LOG/$name.start" "$LWT_BIN/initdb" -D "$dir/data" -U postgres -A trust -N --no-locale -E UTF8 || return 1
	{
		# a throw-away server: private, and not afraid of a crash of the machine
		printf '%s\n' "listen_addresses = ''" "unix_socket_directories = '$dir'" \
			"fsync = off" "extension_destdir = '$LWT_STAGE'" \
			"dynamic_library_path = '$LWT_STAGE$LWT_PKGLIBDIR:\$libdir'"
		for line in "$@"; do
			printf '%s\n' "$line"
		done
	} >>"$dir/data/postgresql.conf"
	lwt_servers+=("$name")
	# the log is the server's own file, so it cannot be the one we write to
	if ! lwt_logged "$LWT_LOG/$name.start" \
		"$LWT_BIN/pg_ctl" -D "$dir/data" -l "$log" -w -t 60 start
	then
		tail -n 20 "$log" >&2
		return 1
	fi
	export PGHOST=$dir PGPORT=5432 PGUSER=postgres PGDATABASE=postgres
}

server_stop()
{
	local data=$LWT_WORK/$1/data

	[ -f "$data/postmaster.pid" ] || return 0
	run_as "$LWT_BIN/pg_ctl" -D "$data" -m fast -w -t 30 stop >/dev/null 2>&1 ||
		run_as "$LWT_BIN/pg_ctl" -D "$data" -m immediate -w -t 30 stop >/dev/null 2>&1 ||
		say "could not stop the server in $data"
}

psql_run()
{
	run_as "$LWT_BIN/psql" -X -q -v ON_ERROR_STOP=1 "$@"
}
