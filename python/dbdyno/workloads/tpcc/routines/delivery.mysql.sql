create procedure dbdyno_delivery(w int, carrier int)
begin
    declare d, o, c, delivered int default 0;
    declare total decimal(12,2);
    start transaction;
    while d < 10 do
        set d = d + 1;
        select min(no_o_id) into o from new_order where no_w_id = w and no_d_id = d for update;
        if o is not null then
            delete from new_order where no_w_id = w and no_d_id = d and no_o_id = o;
            select o_c_id into c from orders where o_w_id = w and o_d_id = d and o_id = o;
            update orders set o_carrier_id = carrier where o_w_id = w and o_d_id = d and o_id = o;
            update order_line set ol_delivery_d = current_timestamp
            where ol_w_id = w and ol_d_id = d and ol_o_id = o;
            select sum(ol_amount) into total from order_line
            where ol_w_id = w and ol_d_id = d and ol_o_id = o;
            update customer set c_balance = c_balance + total, c_delivery_cnt = c_delivery_cnt + 1
            where c_w_id = w and c_d_id = d and c_id = c;
            set delivered = delivered + 1;
        end if;
    end while;
    commit;
    select delivered;
end
