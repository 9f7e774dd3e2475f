insert into planted values (1, 0, 'again');
