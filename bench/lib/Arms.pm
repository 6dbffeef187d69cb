# Arms.pm - what a measurement compares: a server with its settings, by name.

package Arms;

use strict;
use warnings;

# new($bench, name => { setting => value }, ...): the stock server as "stock"
# and the server with lwtune in each of the named states.  Where both servers
# are stock, one arm "again" stands for all of those, and every ratio ought to
# be 1.
sub new
{
	my ($class, $bench, @named) = @_;
	my $self = bless { names => ['stock'], server => { stock => $bench->{stock} } }, $class;

	@named = (again => {}) if $bench->{null};
	while (my ($name, $settings) = splice @named, 0, 2)
	{
		push @{ $self->{names} }, $name;
		$self->{server}{$name} = $bench->{lwtune};
		$self->{settings}{$name} = $settings;
	}
	return $self;
}

# all names, the reference first
sub names
{
	my ($self) = @_;

	return @{ $self->{names} };
}

sub has
{
	my ($self, $name) = @_;

	return exists $self->{server}{$name};
}

# put the arm's settings in force; its server
sub enter
{
	my ($self, $name) = @_;
	my $server = $self->{server}{$name};

	$server->settings(%{ $self->{settings}{$name} }) if $self->{settings}{$name};
	return $server;
}

1;
