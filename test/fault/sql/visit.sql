-- All that a client does which connects only to go away again.
SELECT 1;
