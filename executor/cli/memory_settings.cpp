// jemalloc's settings, which it finds by this name. All threads share an arena: one that finds no memory for
// an arena of its own brings the program down, and what takes long in threads takes no memory. Graphs are made
// and thrown away over and over: their memory is in large pages, and stays with the program for a minute, that of
// more than 8 MiB too, which else goes back at once and comes as pages to be cleared.
// A thread keeps more of what it has freed for itself than the allocator does on its own: the frees of a graph
// come in their thousands, and each list that is full costs a lock.
// Benchmarks have them, too, or they would time pages that the program does not ask for again.
extern "C" const char* malloc_conf;
const char* malloc_conf =
    "narenas:1,oversize_threshold:0,thp:always,dirty_decay_ms:60000,muzzy_decay_ms:60000,"
    "lg_tcache_nslots_mul:4,tcache_nslots_small_max:2000";
