# LwtuneText
#	  Does the text of a running server hold what its file holds?
#
# The server reads its own memory through /proc/self/mem, so that this needs no
# right to trace another process; a backend has inherited the postmaster's text
# as it is.
#
package LwtuneText;

use strict;
use warnings;

use Exporter 'import';
use LwtuneCluster;
use LwtuneElf;
use Test::More;

our @EXPORT = qw(
  text_query
  text_differences
  text_is_stock
  server_entries
  mappings_query
);

# A row for each byte that differs: its offset in the file.  Then one with the
# number of bytes that were compared, negative.
sub text_query
{
	return q{
	WITH mapping AS (
		SELECT regexp_match(line, '^([0-9a-f]+)-([0-9a-f]+) r.xp ([0-9a-f]+) \S+ [1-9]\d* .*/postgres( \(deleted\))?$') AS m
		  FROM regexp_split_to_table(pg_read_file('/proc/self/maps'), '\n') AS line
	), segment AS (
		SELECT ('x' || lpad(m[1], 16, '0'))::bit(64)::bigint AS start,
			   ('x' || lpad(m[2], 16, '0'))::bit(64)::bigint AS stop,
			   ('x' || lpad(m[3], 16, '0'))::bit(64)::bigint AS file_offset
		  FROM mapping WHERE m IS NOT NULL
	), changed AS (
		SELECT * FROM segment
		 WHERE md5(pg_read_binary_file('/proc/self/mem', start, stop - start))
			<> md5(pg_read_binary_file('/proc/self/exe', file_offset, stop - start))
	), page AS (
		SELECT file_offset + i AS file_offset,
			   pg_read_binary_file('/proc/self/mem', start + i, 4096) AS memory,
			   pg_read_binary_file('/proc/self/exe', file_offset + i, 4096) AS file
		  FROM changed, generate_series(0, stop - start - 1, 4096) AS i
	)
	SELECT file_offset + i FROM page, generate_series(0, 4095) AS i
	 WHERE memory <> file AND get_byte(memory, i) <> get_byte(file, i)
	UNION ALL
	SELECT -sum(stop - start) FROM segment
	 ORDER BY 1 DESC};
}

# Offsets in the file of the bytes that differ.
sub text_differences
{
	my ($node)   = @_;
	my @offsets  = split(/\n/, $node->safe_psql('postgres', text_query()));
	my $compared = -pop @offsets;

	die "the server's text was not found: only $compared bytes compared\n"
	  if $compared < 1_000_000;
	return @offsets;
}

sub text_is_stock
{
	my ($node, $name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is_deeply([ text_differences($node) ], [], $name);
}

# The functions that lwtune_status lists: name => [first, last] offset in the
# file of the bytes that a jump may take.
sub server_entries
{
	my ($node) = @_;
	my $executable = LwtuneElf->read('/proc/' . postmaster_pid($node) . '/exe');
	my %entries;

	foreach
	  my $name (split /\n/, $node->safe_psql('postgres', 'SELECT function FROM lwtune_status'))
	{
		my $offset = $executable->function($name)->{offset};
		# behind endbr64, if there is one
		$offset += 4
		  if substr($executable->{bytes}, $offset, 4) eq "\xf3\x0f\x1e\xfa";
		$entries{$name} = [ $offset, $offset + 4 ];
	}
	return %entries;
}

# A row for each mapping, in order, as "permissions file": of the server's own
# file, and of executable memory that is from no file.
sub mappings_query
{
	return q{
	SELECT m[1] || ' ' || regexp_replace(m[2], '.*/', '')
	  FROM regexp_split_to_table(pg_read_file('/proc/self/maps'), '\n') WITH ORDINALITY AS lines(line, n),
		   regexp_match(line, '^\S+ (\S+) \S+ \S+ \S+ *(.*)$') AS m
	 WHERE m[2] ~ '/postgres$' OR (m[1] ~ 'x' AND m[2] = '')
	 ORDER BY n};
}

1;
