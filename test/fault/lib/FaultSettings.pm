# FaultSettings
#	  The one list of lwtune's settings, and the values that they may take.
#
package FaultSettings;

use strict;
use warnings;

use Exporter 'import';
use File::Basename;

our @EXPORT = qw(settings_file read_settings every_setting_on);

sub settings_file
{
	return dirname(__FILE__) . '/../settings.list';
}

# Each is { name => ..., values => [...] }, the first value being "turned on".
sub read_settings
{
	my ($file) = @_;
	my @settings;

	open(my $in, '<', $file) or die "could not read $file: $!\n";
	while (my $line = <$in>)
	{
		chomp $line;
		next if $line =~ /^\s*(#|$)/;
		my ($name, @values) = split /\s*\|\s*/, $line;
		die "no value in \"$line\"\n" unless @values;
		push @settings, { name => $name, values => \@values };
	}
	return @settings;
}

# Text for postgresql.conf.
sub every_setting_on
{
	return join('', map { "$_->{name} = '$_->{values}[0]'\n" } read_settings(settings_file()));
}

1;
