create or replace function dbdyno_delivery(w int, carrier int, out delivered int)
language plpgsql as $$
declare
    o int;
    c int;
    amount decimal;
begin
    delivered := 0;
    for d in 1 .. 10 loop
        loop
            select min(no_o_id) into o from new_order where no_w_id = w and no_d_id = d;
            exit when o is null;
            delete from new_order where no_w_id = w and no_d_id = d and no_o_id = o;
            exit when found;
        end loop;
        continue when o is null;
        select o_c_id into c from orders where o_w_id = w and o_d_id = d and o_id = o;
        update orders set o_carrier_id = carrier where o_w_id = w and o_d_id = d and o_id = o;
        update order_line set ol_delivery_d = current_timestamp
        where ol_w_id = w and ol_d_id = d and ol_o_id = o;
        select sum(ol_amount) into amount from order_line
        where ol_w_id = w and ol_d_id = d and ol_o_id = o;
        update customer set c_balance = c_balance + amount, c_delivery_cnt = c_delivery_cnt + 1
        where c_w_id = w and c_d_id = d and c_id = c;
        delivered := delivered + 1;
    end loop;
end
$$
