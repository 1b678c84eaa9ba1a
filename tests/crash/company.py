"""What a company has where one person has files: a database server and an S3 server."""

from contextlib import ExitStack

from tests.servers.ceph import RadosGateway
from tests.servers.postgres import PostgresServer


def company_servers(stack: ExitStack) -> tuple[PostgresServer, RadosGateway]:
    """Start both until the stack is left; meanwhile this process has the store's credentials."""
    postgres = stack.enter_context(PostgresServer())
    gateway = stack.enter_context(RadosGateway())
    stack.enter_context(gateway.credentials())
    return postgres, gateway
