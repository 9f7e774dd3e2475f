"""The twelve consistency conditions of TPC-C's definition (clause 3.3.2), each as a query.

What must be equal is added up over one union of all sides: a row that is missing on either side is
seen, and no NULL can hide one. An identifier that does not exist counts as 0.

The definition states the eleventh for data just loaded: 2100 orders of each district are delivered.
Each delivery adds one, to these orders and to its customer's count, and so it is stated here.
"""

from dbdyno.databases.schema import listed
from dbdyno.workloads.conditions import Condition
from dbdyno.workloads.tpcc.data import DELIVERED

_WAREHOUSE = ("w_id",)
_DISTRICT = ("w_id", "d_id")
_ORDER = ("w_id", "d_id", "o_id")
_LINE = ("w_id", "d_id", "o_id", "line")
_CUSTOMER = ("w_id", "d_id", "c_id")

_DELIVERED_LINES = """
    order_line join orders on o_w_id = ol_w_id and o_d_id = ol_d_id and o_id = ol_o_id
    where ol_delivery_d is not null"""


def _of_sums(  # noqa: PLR0913 (they are independent)
    *,
    number: int,
    claim: str,
    key: tuple[str, ...],
    sums: tuple[str, ...],
    sides: str,
    broken: str,
    is_cheap: bool = False,
) -> Condition:
    """Return a condition for each ``key``: ``broken`` is said of the sums over all ``sides``."""
    totals = listed(f"sum({name}) as {name}" for name in sums)
    return Condition(
        id=str(number),
        claim=claim,
        columns=(*key, *sums),
        broken=f"select {listed(key)}, {totals} from ({sides}) s group by {listed(key)} "
        f"having {broken}",
        is_cheap=is_cheap,
    )


CONDITIONS = (
    _of_sums(
        number=1,
        claim="w_ytd of a warehouse is the sum of its d_ytd",
        key=_WAREHOUSE,
        sums=("w_ytd", "d_ytd"),
        sides="""select w_id, w_ytd, 0.00 as d_ytd from warehouse
        union all select d_w_id, 0.00, d_ytd from district""",
        broken="sum(w_ytd) <> sum(d_ytd)",
        is_cheap=True,
    ),
    _of_sums(
        number=2,
        claim="d_next_o_id of a district follows its newest order, and its newest new order if any",
        key=_DISTRICT,
        sums=("d_next_o_id", "newest_order", "newest_new_order"),
        sides="""select d_w_id as w_id, d_id, d_next_o_id, 0 as newest_order, 0 as newest_new_order
        from district
        union all select o_w_id, o_d_id, 0, max(o_id), 0 from orders group by o_w_id, o_d_id
        union all select no_w_id, no_d_id, 0, 0, max(no_o_id) from new_order
        group by no_w_id, no_d_id""",
        broken="""sum(newest_order) <> sum(d_next_o_id) - 1
        or sum(newest_new_order) not in (0, sum(d_next_o_id) - 1)""",
        is_cheap=True,
    ),
    Condition(
        id="3",
        claim="the new orders of a district have consecutive numbers",
        columns=(*_DISTRICT, "oldest", "newest", "new_orders"),
        broken="""
            select no_w_id as w_id, no_d_id as d_id,
                min(no_o_id) as oldest, max(no_o_id) as newest, count(*) as new_orders
            from new_order group by no_w_id, no_d_id
            having max(no_o_id) - min(no_o_id) + 1 <> count(*)""",
        is_cheap=True,
    ),
    _of_sums(
        number=4,
        claim="the lines of a district are as many as its orders say",
        key=_DISTRICT,
        sums=("o_ol_cnt", "order_lines"),
        sides="""select o_w_id as w_id, o_d_id as d_id, o_ol_cnt, 0 as order_lines from orders
        union all select ol_w_id, ol_d_id, 0, count(*) from order_line group by ol_w_id, ol_d_id""",
        broken="sum(o_ol_cnt) <> sum(order_lines)",
    ),
    _of_sums(
        number=5,
        claim="exactly the orders without a carrier are new orders",
        key=_ORDER,
        sums=("without_carrier", "new_orders"),
        sides="""select o_w_id as w_id, o_d_id as d_id, o_id, 1 as without_carrier, 0 as new_orders
        from orders where o_carrier_id is null
        union all select no_w_id, no_d_id, no_o_id, 0, 1 from new_order""",
        broken="sum(without_carrier) <> sum(new_orders)",
    ),
    _of_sums(
        number=6,
        claim="an order has as many lines as it says",
        key=_ORDER,
        sums=("o_ol_cnt", "order_lines"),
        sides="""select o_w_id as w_id, o_d_id as d_id, o_id, o_ol_cnt, 0 as order_lines from orders
        union all select ol_w_id, ol_d_id, ol_o_id, 0, 1 from order_line""",
        broken="sum(o_ol_cnt) <> sum(order_lines)",
    ),
    Condition(
        id="7",
        claim="exactly the lines of orders with a carrier have a delivery date",
        columns=(*_LINE, "o_carrier_id", "has_delivery_date"),
        broken="""
            select ol_w_id as w_id, ol_d_id as d_id, ol_o_id as o_id, ol_number as line,
                o_carrier_id, case when ol_delivery_d is null then 0 else 1 end as has_delivery_date
            from order_line
                join orders on o_w_id = ol_w_id and o_d_id = ol_d_id and o_id = ol_o_id
            where (ol_delivery_d is null and o_carrier_id is not null)
                or (ol_delivery_d is not null and o_carrier_id is null)""",
    ),
    _of_sums(
        number=8,
        claim="w_ytd of a warehouse is the sum of its history",
        key=_WAREHOUSE,
        sums=("w_ytd", "h_amount"),
        sides="""select w_id, w_ytd, 0.00 as h_amount from warehouse
        union all select h_w_id, 0.00, h_amount from history""",
        broken="sum(w_ytd) <> sum(h_amount)",
    ),
    _of_sums(
        number=9,
        claim="d_ytd of a district is the sum of its history",
        key=_DISTRICT,
        sums=("d_ytd", "h_amount"),
        sides="""select d_w_id as w_id, d_id, d_ytd, 0.00 as h_amount from district
        union all select h_w_id, h_d_id, 0.00, h_amount from history""",
        broken="sum(d_ytd) <> sum(h_amount)",
    ),
    _of_sums(
        number=10,
        claim="c_balance of a customer is the sum of its delivered lines less that of its history",
        key=_CUSTOMER,
        sums=("c_balance", "ol_amount", "h_amount"),
        sides=f"""select c_w_id as w_id, c_d_id as d_id, c_id,
            c_balance, 0.00 as ol_amount, 0.00 as h_amount
        from customer
        union all select o_w_id, o_d_id, o_c_id, 0.00, ol_amount, 0.00 from {_DELIVERED_LINES}
        union all select h_c_w_id, h_c_d_id, h_c_id, 0.00, 0.00, h_amount from history""",
        broken="sum(c_balance) <> sum(ol_amount) - sum(h_amount)",
    ),
    _of_sums(
        number=11,
        claim=f"of a district's orders, {DELIVERED} and one for each delivery to a customer have a "
        "carrier and are no new orders",
        key=_DISTRICT,
        sums=("all_orders", "new_orders", "with_carrier", "deliveries"),
        sides="""select o_w_id as w_id, o_d_id as d_id, 1 as all_orders, 0 as new_orders,
            case when o_carrier_id is null then 0 else 1 end as with_carrier, 0 as deliveries
        from orders
        union all select no_w_id, no_d_id, 0, 1, 0, 0 from new_order
        union all select c_w_id, c_d_id, 0, 0, 0, c_delivery_cnt from customer""",
        broken=f"""sum(all_orders) - sum(new_orders) <> sum(with_carrier)
        or sum(with_carrier) <> {DELIVERED} + sum(deliveries)""",
    ),
    _of_sums(
        number=12,
        claim="c_balance and c_ytd_payment of a customer add up to its delivered lines",
        key=_CUSTOMER,
        sums=("c_balance", "c_ytd_payment", "ol_amount"),
        sides=f"""select c_w_id as w_id, c_d_id as d_id, c_id,
            c_balance, c_ytd_payment, 0.00 as ol_amount
        from customer
        union all select o_w_id, o_d_id, o_c_id, 0.00, 0.00, ol_amount from {_DELIVERED_LINES}""",
        broken="sum(c_balance) + sum(c_ytd_payment) <> sum(ol_amount)",
    ),
)
