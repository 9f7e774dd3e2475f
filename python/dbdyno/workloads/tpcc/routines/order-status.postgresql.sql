create or replace function dbdyno_order_status(w int, d int, customer_id int, name text)
returns table (
    id int, first_name text, middle text, last_name text, balance decimal,
    number int, entered timestamp, carrier int,
    item int, supply int, quantity int, amount decimal, delivered timestamp)
language plpgsql as $$
declare
    among int;
begin
    if name is not null then
        select count(*) into among from customer
        where c_w_id = w and c_d_id = d and c_last = name;
        select c_id into customer_id from customer
        where c_w_id = w and c_d_id = d and c_last = name
        order by c_first limit 1 offset (among - 1) / 2;
    end if;
    select c_id, c_first, c_middle, c_last, c_balance
    into id, first_name, middle, last_name, balance
    from customer where c_w_id = w and c_d_id = d and c_id = customer_id;
    select o_id, o_entry_d, o_carrier_id into number, entered, carrier from orders
    where o_w_id = w and o_d_id = d and o_c_id = id and o_id = (
        select max(o_id) from orders where o_w_id = w and o_d_id = d and o_c_id = id);
    for item, supply, quantity, amount, delivered in
        select ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d from order_line
        where ol_w_id = w and ol_d_id = d and ol_o_id = number
    loop
        return next;
    end loop;
end
$$
