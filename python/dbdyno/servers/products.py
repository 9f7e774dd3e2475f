"""The servers that dbdyno can start, by the name after ``--server``."""

from importlib import import_module

from dbdyno.servers.product import Product
from dbdyno.servers.spec import Kind

MODULES: dict[Kind, str] = {
    "postgres": "postgresql.product",
    "mariadb": "mysql.mariadb",
    "mysql": "mysql.product",
}


def product_of(kind: Kind) -> Product:
    """Import and return a product; only on demand, since each imports its own driver."""
    module = import_module(f"dbdyno.servers.{MODULES[kind]}")
    product: Product = module.PRODUCT
    return product
