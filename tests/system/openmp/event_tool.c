// A tool of OpenMP (OMPT) that checks the order of the events that it is told, and at the end prints their
// counts in one line. A wrong order ends the process.
#include <omp-tools.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum Count {
  threads,
  ended_threads,
  regions,
  members,
  ended_members,
  work,
  chunks,
  barriers,
  region_ends,
  taskwaits,
  taskgroups,
  mutexes,
  nested,
  locks,
  cancels,
  reductions,
  masked,
  created,
  started,
  completed,
  dependences,
  edges,
  controls,
  errors,
  counts
};
static const char* const names[counts] = {
    "threads", "ended_threads", "regions",     "members",    "ended_members", "work",
    "chunks",  "barriers",      "region_ends", "taskwaits",  "taskgroups",    "mutexes",
    "nested",  "locks",         "cancels",     "reductions", "masked",        "created",
    "started", "completed",     "dependences", "edges",      "controls",      "errors"};
static _Atomic long counted[counts];

static ompt_get_unique_id_t unique_id;
static ompt_get_task_info_t task_info;
static ompt_get_parallel_info_t parallel_info;
static ompt_get_state_t state;
static ompt_get_thread_data_t thread_data;

// What a thread is inside of, innermost last.
enum Scope { initial_task = 1, region, member, construct, sync_scope, wait_scope };
struct RegionState {
  _Atomic int begun, ended;
};
struct ThreadState {
  int depth;
  int scopes[256];
  ompt_wait_id_t wanted;
  int held;
  ompt_wait_id_t locks[64];
  int inside;
  struct RegionState* regions[16];
};

static void fail(const char* what, long detail) {
  fprintf(stderr, "tool: %s (%ld)\n", what, detail);
  fflush(stderr);
  _exit(9);
}

static void count(enum Count what) {
  atomic_fetch_add(&counted[what], 1);
}

static struct ThreadState* self(void) {
  ompt_data_t* const data = thread_data();
  if (data == NULL || data->ptr == NULL) fail("an event before the thread begins", 0);
  return data->ptr;
}

static void scope(enum Scope which, ompt_scope_endpoint_t endpoint) {
  struct ThreadState* const thread = self();
  if (endpoint == ompt_scope_begin) {
    if (thread->depth == 256) fail("too many scopes", which);
    thread->scopes[thread->depth++] = which;
  } else {
    if (thread->depth == 0 || thread->scopes[--thread->depth] != (int)which)
      fail("the end of another scope", which);
  }
}

static void on_thread_begin(ompt_thread_t kind, ompt_data_t* data) {
  if (kind != ompt_thread_initial && kind != ompt_thread_worker) fail("kind of a thread", kind);
  if (data->ptr != NULL || thread_data() != data) fail("data of a thread", 0);
  data->ptr = calloc(1, sizeof(struct ThreadState));
  count(threads);
}

static void on_thread_end(ompt_data_t* data) {
  const struct ThreadState* const thread = data->ptr;
  if (thread->depth != 0 || thread->held != 0) fail("a thread ends inside a scope", thread->depth);
  free(data->ptr);
  count(ended_threads);
}

static void on_parallel_begin(ompt_data_t* task, const ompt_frame_t* frame, ompt_data_t* data,
                              unsigned threads_asked, int flags, const void* call_site) {
  (void)flags;
  if (task == NULL || task->value == 0) fail("a region without a task", 0);
  if (frame->enter_frame.ptr == NULL && getenv("TOOL_FRAMES") != NULL) fail("no frame enters the region", 0);
  if (threads_asked == 0 || call_site == NULL) fail("what a region asks for", threads_asked);
  data->ptr = calloc(1, sizeof(struct RegionState));
  count(regions);
  scope(region, ompt_scope_begin);
}

static void on_parallel_end(ompt_data_t* data, ompt_data_t* task, int flags, const void* call_site) {
  (void)flags, (void)call_site;
  struct RegionState* const of = data->ptr;
  // Other threads may leave after the one that opened it, so the state stays.
  if (of->begun == 0 || of->ended == 0) fail("a region ends before its members", of->begun - of->ended);
  if (task->value == 0) fail("the task of a region's end", 0);
  scope(region, ompt_scope_end);
}

static void on_implicit_task(ompt_scope_endpoint_t endpoint, ompt_data_t* region_data, ompt_data_t* task,
                             unsigned size, unsigned number, int flags) {
  if ((flags & ompt_task_initial) != 0) {
    if (endpoint == ompt_scope_begin) task->value = unique_id();
    return scope(initial_task, endpoint);
  }
  if ((flags & ompt_task_implicit) == 0) fail("flags of a member", flags);
  if (endpoint == ompt_scope_begin) {
    struct RegionState* const of = region_data->ptr;
    if (of == NULL || number >= size) fail("a member of no region", number);
    of->begun++;
    if (self()->inside == 16) fail("too many regions", number);
    self()->regions[self()->inside++] = of;
    task->value = unique_id();
    count(members);
    scope(member, endpoint);
    int size_told = 0;
    ompt_data_t* found = NULL;
    if (parallel_info(0, &found, &size_told) != 2 || found != region_data || (unsigned)size_told != size)
      fail("the information on a region", size_told);
    return;
  }
  if (task->value == 0) fail("data of a member", 0);
  // The region's data are no argument of the end, and other threads may have left it.
  struct ThreadState* const thread = self();
  if (thread->inside == 0) fail("the end of a member that has not begun", number);
  thread->regions[--thread->inside]->ended++;
  count(ended_members);
  scope(member, endpoint);
}

static void on_work(ompt_work_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t* region_data,
                    ompt_data_t* task, uint64_t iterations, const void* call_site) {
  (void)kind, (void)iterations;
  if (region_data == NULL || task->value == 0 || call_site == NULL) fail("data of a construct", kind);
  ompt_data_t *own = NULL, *of_region = NULL;
  if (task_info(0, NULL, &own, NULL, &of_region, NULL) != 2 || own != task || of_region != region_data)
    fail("the information on a task", kind);
  if (endpoint == ompt_scope_begin) count(work);
  scope(construct, endpoint);
}

static void on_dispatch(ompt_data_t* region_data, ompt_data_t* task, ompt_dispatch_t kind,
                        ompt_data_t instance) {
  (void)region_data;
  const struct ThreadState* const thread = self();
  if (task->value == 0 || instance.ptr == NULL) fail("data of a chunk", kind);
  if (thread->depth == 0 || thread->scopes[thread->depth - 1] != construct) fail("a chunk of no loop", kind);
  if (kind == ompt_dispatch_ws_loop_chunk && ((const ompt_dispatch_chunk_t*)instance.ptr)->iterations == 0)
    fail("an empty chunk", 0);
  count(chunks);
}

static void on_sync(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t* region_data,
                    ompt_data_t* task, const void* call_site) {
  // A thread may leave the end of a region late.
  const int ends_region = kind == ompt_sync_region_barrier_implicit_parallel;
  if (task->value == 0) fail("the task of a synchronisation", kind);
  if (!ends_region && (region_data == NULL || call_site == NULL)) fail("data of a synchronisation", kind);
  scope(sync_scope, endpoint);
  if (endpoint == ompt_scope_begin) return;
  count(kind == ompt_sync_region_taskwait                    ? taskwaits
        : kind == ompt_sync_region_taskgroup                 ? taskgroups
        : kind == ompt_sync_region_barrier_implicit_parallel ? region_ends
                                                             : barriers);
}

static void on_wait(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t* region_data,
                    ompt_data_t* task, const void* call_site) {
  (void)region_data, (void)task, (void)call_site;
  const struct ThreadState* const thread = self();
  const int outer = endpoint == ompt_scope_begin ? 1 : 2;
  if (thread->depth < outer || thread->scopes[thread->depth - outer] != sync_scope)
    fail("a wait of nothing", kind);
  scope(wait_scope, endpoint);
}

static void on_reduction(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t* region_data,
                         ompt_data_t* task, const void* call_site) {
  (void)region_data, (void)task, (void)call_site;
  if (kind != ompt_sync_region_reduction) fail("kind of a reduction", kind);
  if (endpoint == ompt_scope_begin) count(reductions);
}

static void on_acquire(ompt_mutex_t kind, unsigned hint, unsigned implementation, ompt_wait_id_t id,
                       const void* call_site) {
  (void)hint;
  if (id == 0 || implementation == 0 || call_site == NULL) fail("data of a lock", kind);
  self()->wanted = id;
}

static void on_acquired(ompt_mutex_t kind, ompt_wait_id_t id, const void* call_site) {
  (void)call_site;
  struct ThreadState* const thread = self();
  if (thread->wanted != id) fail("a lock that was not asked for", kind);
  ompt_wait_id_t awaited = 1;
  if (state(&awaited) != ompt_state_work_parallel && state(&awaited) != ompt_state_work_serial)
    fail("the state of a thread that has a lock", state(&awaited));
  if (thread->held == 64) fail("too many locks", kind);
  thread->locks[thread->held++] = id;
  count(mutexes);
}

static void on_released(ompt_mutex_t kind, ompt_wait_id_t id, const void* call_site) {
  (void)call_site;
  struct ThreadState* const thread = self();
  for (int i = 0; i < thread->held; ++i) {
    if (thread->locks[i] != id) continue;
    thread->locks[i] = thread->locks[--thread->held];
    return;
  }
  fail("a lock that is not held", kind);
}

static void on_nest_lock(ompt_scope_endpoint_t endpoint, ompt_wait_id_t id, const void* call_site) {
  (void)call_site;
  const struct ThreadState* const thread = self();
  for (int i = 0; i < thread->held; ++i) {
    if (thread->locks[i] != id) continue;
    if (endpoint == ompt_scope_begin) count(nested);
    return;
  }
  fail("a nestable lock that is not held", endpoint);
}

static void on_lock_init(ompt_mutex_t kind, unsigned hint, unsigned implementation, ompt_wait_id_t id,
                         const void* call_site) {
  (void)kind, (void)hint, (void)implementation, (void)call_site;
  if (id == 0) fail("a lock without identity", kind);
  count(locks);
}

static void on_masked(ompt_scope_endpoint_t endpoint, ompt_data_t* region_data, ompt_data_t* task,
                      const void* call_site) {
  (void)region_data, (void)task, (void)call_site;
  if (endpoint == ompt_scope_begin) count(masked);
}

static void on_cancel(ompt_data_t* task, int flags, const void* call_site) {
  (void)flags, (void)call_site;
  if (task->value == 0) fail("a cancellation without a task", flags);
  count(cancels);
}

// A task's data: its steps.
enum Step { made = 1, runs, over };

static void on_task_create(ompt_data_t* task, const ompt_frame_t* frame, ompt_data_t* new_task, int flags,
                           int depends, const void* call_site) {
  (void)frame, (void)depends, (void)call_site;
  if (task == NULL || (flags & ompt_task_explicit) == 0) fail("a task of nothing", flags);
  if (new_task->value != 0) fail("data of a new task", 0);
  new_task->value = made;
  count(created);
}

static void on_task_schedule(ompt_data_t* before, ompt_task_status_t status, ompt_data_t* next) {
  if (status == ompt_task_complete || status == ompt_task_cancel || status == ompt_task_detach) {
    if (before->value != runs) fail("the end of a task that does not run", status);
    if (status != ompt_task_detach) {
      before->value = over;
      count(completed);
    }
  }
  if (status == ompt_task_late_fulfill || status == ompt_task_early_fulfill) {
    if (status == ompt_task_late_fulfill) count(completed);
    return;
  }
  if (next != NULL && next->value == made) {
    next->value = runs;
    count(started);
  }
}

static void on_dependences(ompt_data_t* task, const ompt_dependence_t* list, int many) {
  if (task->value == 0 || (many > 0 && list[0].dependence_type == 0)) fail("dependences", many);
  atomic_fetch_add(&counted[dependences], many);
}

static void on_task_dependence(ompt_data_t* from, ompt_data_t* to) {
  if (from == NULL || to == NULL || from == to) fail("a dependence of a task on itself", 0);
  count(edges);
}

static int on_control(uint64_t command, uint64_t modifier, void* argument, const void* call_site) {
  if (call_site == NULL || command != 1 || modifier != 2) fail("a command", (long)command);
  count(controls);
  return argument == NULL ? 0 : 1;
}

static void on_error(ompt_severity_t severity, const char* text, size_t length, const void* call_site) {
  (void)severity, (void)call_site;
  if (text == NULL || strnlen(text, length + 1) < length) fail("the text of an error", (long)length);
  count(errors);
}

static int initialise(ompt_function_lookup_t look_up, int device, ompt_data_t* data) {
  (void)device;
  const ompt_set_callback_t set = (ompt_set_callback_t)look_up("ompt_set_callback");
  unique_id = (ompt_get_unique_id_t)look_up("ompt_get_unique_id");
  task_info = (ompt_get_task_info_t)look_up("ompt_get_task_info");
  parallel_info = (ompt_get_parallel_info_t)look_up("ompt_get_parallel_info");
  state = (ompt_get_state_t)look_up("ompt_get_state");
  thread_data = (ompt_get_thread_data_t)look_up("ompt_get_thread_data");
  if (look_up("ompt_nothing") != NULL) fail("a function of no name", 0);
#define SET(event, function) \
  if (set(event, (ompt_callback_t)function) < ompt_set_sometimes) fprintf(stderr, "tool: no " #event "\n")
  SET(ompt_callback_thread_begin, on_thread_begin);
  SET(ompt_callback_thread_end, on_thread_end);
  SET(ompt_callback_parallel_begin, on_parallel_begin);
  SET(ompt_callback_parallel_end, on_parallel_end);
  SET(ompt_callback_implicit_task, on_implicit_task);
  SET(ompt_callback_work, on_work);
  SET(ompt_callback_dispatch, on_dispatch);
  SET(ompt_callback_sync_region, on_sync);
  SET(ompt_callback_sync_region_wait, on_wait);
  SET(ompt_callback_reduction, on_reduction);
  SET(ompt_callback_mutex_acquire, on_acquire);
  SET(ompt_callback_mutex_acquired, on_acquired);
  SET(ompt_callback_mutex_released, on_released);
  SET(ompt_callback_nest_lock, on_nest_lock);
  SET(ompt_callback_lock_init, on_lock_init);
  SET(ompt_callback_masked, on_masked);
  SET(ompt_callback_cancel, on_cancel);
  SET(ompt_callback_task_create, on_task_create);
  SET(ompt_callback_task_schedule, on_task_schedule);
  SET(ompt_callback_dependences, on_dependences);
  SET(ompt_callback_task_dependence, on_task_dependence);
  SET(ompt_callback_control_tool, on_control);
  SET(ompt_callback_error, on_error);
  data->value = 7;
  return 1;
}

static void finalise(ompt_data_t* data) {
  if (data->value != 7) fail("the tool's data", (long)data->value);
  if (counted[threads] != counted[ended_threads]) fail("threads that have not ended", counted[threads]);
  if (counted[members] != counted[ended_members]) fail("members that have not ended", counted[members]);
  if (counted[created] != counted[completed]) fail("tasks that have not ended", counted[created]);
  char line[1024];
  int at = snprintf(line, sizeof line, "tool:");
  for (int i = 0; i < counts; ++i)
    at += snprintf(line + at, sizeof line - (size_t)at, " %s=%ld", names[i], counted[i]);
  fprintf(stderr, "%s\n", line);
}

ompt_start_tool_result_t* ompt_start_tool(unsigned version, const char* runtime) {
  static ompt_start_tool_result_t result = {initialise, finalise, {0}};
  return version == 0 || runtime == NULL ? NULL : &result;
}
