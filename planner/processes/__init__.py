"""Work in processes of their own: the pool in which pages' answers are worked out, the one beside `serve`, a sweep's."""
