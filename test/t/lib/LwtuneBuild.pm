# LwtuneBuild
#	  Compile the small libraries in C that tests use.
#
package LwtuneBuild;

use strict;
use warnings;

use Exporter 'import';
use File::Basename;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(build_library);

my $sources = dirname(__FILE__) . '/../c';
my $folder;

# Compile NAME.c of the folder "c"; the library's path.
sub build_library
{
	my ($name) = @_;

	chomp(my $cc      = `pg_config --cc`);
	chomp(my $headers = `pg_config --includedir-server`);
	$folder //= PostgreSQL::Test::Utils::tempdir();

	my $library = "$folder/$name.so";
	my @command = (
		split(' ', $cc),
		qw(-std=gnu99 -O1 -g -Wall -Wextra -Wno-unused-parameter -Werror -fPIC -shared),
		'-isystem', $headers, '-o', $library, "$sources/$name.c", '-ldl', '-lpthread');
	system(@command) == 0 or BAIL_OUT("could not build $name: @command");
	return $library;
}

1;
