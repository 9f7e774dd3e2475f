"""The servers that dbdyno can start, by the name after ``--server``."""

from importlib import import_module

from dbdyno.servers.product import Product
from dbdyno.servers.spec import Kind

FOLDERS: dict[Kind, str] = {
    "postgres": "postgresql",
    "mariadb": "mariadb",
    "mysql": "mysql",
}


def product_of(kind: Kind) -> Product:
    """Import and return a product; only on demand, since each imports its own driver."""
    module = import_module(f"dbdyno.databases.{FOLDERS[kind]}.server.product")
    product: Product = module.PRODUCT
    return product
