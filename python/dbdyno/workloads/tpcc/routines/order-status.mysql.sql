create procedure dbdyno_order_status(w int, d int, customer_id int, name text)
begin
    declare among, skipped, number, carrier int default 0;
    declare first_name, middle, last_name text;
    declare balance decimal(12,2);
    declare entered datetime(6);
    start transaction;
    if name is not null then
        select count(*) into among from customer
        where c_w_id = w and c_d_id = d and c_last = name;
        set skipped = (among - 1) div 2;
        select c_id into customer_id from customer
        where c_w_id = w and c_d_id = d and c_last = name
        order by c_first limit skipped, 1;
    end if;
    select c_first, c_middle, c_last, c_balance into first_name, middle, last_name, balance
    from customer where c_w_id = w and c_d_id = d and c_id = customer_id;
    select o_id, o_entry_d, o_carrier_id into number, entered, carrier from orders
    where o_w_id = w and o_d_id = d and o_c_id = customer_id and o_id = (
        select max(o_id) from orders where o_w_id = w and o_d_id = d and o_c_id = customer_id);
    select customer_id, first_name, middle, last_name, balance, number, entered, carrier,
        ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d from order_line
    where ol_w_id = w and ol_d_id = d and ol_o_id = number;
    commit;
end
