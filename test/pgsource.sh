#
# test/pgsource.sh
#	  PostgreSQL's own source, for the tests that come with it (sourced).
#
# It is Debian's source package, of the installed version where the mirror has
# it and otherwise the newest that there is.  It stays below LWT_WORK: scripts
# that share a folder share the source.  Source after workdir.sh.
#
#	get_source PART...		copy these files and folders to $LWT_WORK/pgsrc, owned by
#							who runs the tests; sets source_version.  Without a
#							source the script ends here, as skipped
#	build_regress_module	compile regress.so; sets modules, its folder
#
# LWTUNE_PGSRC	an unpacked source of the same major; nothing is fetched then
# LWTUNE_CACHE	if set, keep the source in ${XDG_CACHE_HOME:-/var/tmp}/lwtune-src
#

skip_all()
{
	echo "1..0 # SKIP $1"
	exit 0
}

# A private apt: this machine's own mirrors and keys, but the lists, the cache
# and the deb-src entries are below our folder.
apt_prepare()
{
	local file

	mkdir -p "$apt_dir/parts" "$apt_dir/lists/partial" "$apt_dir/cache/archives/partial"
	apt_options=(
		-o Dir::Etc::sourcelist=/dev/null
		-o "Dir::Etc::sourceparts=$apt_dir/parts"
		-o "Dir::State::lists=$apt_dir/lists"
		-o "Dir::Cache=$apt_dir/cache"
		-o APT::Sandbox::User=root
		-o Acquire::Retries=3
		-o Acquire::Languages=none
	)
	for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
		[ -r "$file" ] || continue
		sed -n 's/^[[:space:]]*deb\(-src\)\{0,1\}[[:space:]]/deb-src /p' "$file" |
			sort -u >"$apt_dir/parts/$(basename "$file" .list).list"
	done
	for file in /etc/apt/sources.list.d/*.sources; do
		[ -r "$file" ] || continue
		sed 's/^Types:.*/Types: deb-src/' "$file" >"$apt_dir/parts/$(basename "$file")"
	done
}

# The server's own version first, then what there is from new to old.
source_versions()
{
	local installed

	installed=$(dpkg-query -W -f '${source:Version}' "postgresql-$major" 2>/dev/null) || true
	apt-cache "${apt_options[@]}" showsrc "postgresql-$major" 2>/dev/null |
		sed -n 's/^Version: //p' | sort -Vru | awk -v first="$installed" '
			$0 == first { print; next }
			{ rest = rest $0 "\n" }
			END { printf "%s", rest }'
}

fetch_source()
{
	local version attempt

	[ ! -f "$apt_dir/unpacked/configure" ] || return 0
	command -v apt-get >/dev/null || { why="no apt-get here"; return 1; }
	command -v dpkg-source >/dev/null || { why="no dpkg-source here"; return 1; }
	apt_prepare
	say "# fetching the list of sources"
	for attempt in 1 2 3; do
		apt-get "${apt_options[@]}" -q update >"$LWT_LOG/apt.log" 2>&1 && break
		[ "$attempt" -eq 3 ] || sleep $((attempt * 5))
	done
	for version in $(source_versions); do
		say "# fetching the source of PostgreSQL $version"
		if (cd "$apt_dir" && apt-get "${apt_options[@]}" -q source --download-only \
			"postgresql-$major=$version") >>"$LWT_LOG/apt.log" 2>&1
		then
			rm -rf "$apt_dir/unpacked"
			if dpkg-source --no-check -x "$apt_dir"/postgresql-"$major"_"${version#*:}".dsc \
				"$apt_dir/unpacked" >>"$LWT_LOG/apt.log" 2>&1
			then
				return 0
			fi
		fi
		say "# the mirror does not have it"
	done
	why="the mirror has no source of PostgreSQL $major"
	return 1
}

find_source()
{
	local cache=${XDG_CACHE_HOME:-/var/tmp}/lwtune-src/$major

	if [ -n "${LWTUNE_PGSRC:-}" ]; then
		pgsource=$LWTUNE_PGSRC
		[ -f "$pgsource/configure" ] || { why="no PostgreSQL source in LWTUNE_PGSRC=$pgsource"; return 1; }
	elif [ -n "${LWTUNE_CACHE:-}" ] && [ -f "$cache/configure" ]; then
		pgsource=$cache
	else
		fetch_source || return 1
		pgsource=$apt_dir/unpacked
		if [ -n "${LWTUNE_CACHE:-}" ]; then
			rm -rf "$cache.new" "$cache"
			mkdir -p "$cache.new"
			tar -C "$pgsource" --exclude=./doc --exclude=./debian -cf - . | tar -C "$cache.new" -xf -
			mv "$cache.new" "$cache"
		fi
	fi
}

get_source()
{
	local to=$LWT_WORK/pgsrc

	apt_dir=$LWT_WORK/apt
	major=$("$PG_CONFIG" --version | sed 's/^PostgreSQL \([0-9]*\).*/\1/')
	why=
	find_source || skip_all "PostgreSQL's own tests: $why"
	run_as mkdir -p "$to"
	tar -C "$pgsource" -cf - configure "$@" | run_as tar -C "$to" -xf -
	source_version=$(sed -n "s/^PACKAGE_VERSION='\(.*\)'/\1/p" "$to/configure")
	say "# tests of PostgreSQL $source_version, server $("$LWT_BIN/postgres" -V | sed 's/.* (PostgreSQL) //')"
}

# autoinc and refint are installed with the server.
build_regress_module()
{
	local module

	modules=$LWT_WORK/modules
	run_as mkdir -p "$modules"
	printf '%s\n' 'MODULES = regress' "PGXS := \$(shell \$(PG_CONFIG) --pgxs)" 'include $(PGXS)' |
		run_as tee "$modules/Makefile" >/dev/null
	run_as cp "$LWT_WORK/pgsrc/src/test/regress/regress.c" "$modules/"
	lwt_logged "$LWT_LOG/modules.log" make -C "$modules" PG_CONFIG="$PG_CONFIG" with_llvm=no regress.so || return 1
	for module in autoinc refint; do
		[ ! -f "$LWT_PKGLIBDIR/$module.so" ] || run_as ln -sf "$LWT_PKGLIBDIR/$module.so" "$modules/"
	done
}
