/* For programs without checks. */
void synchronise(void);
void synchronise(void) {}
