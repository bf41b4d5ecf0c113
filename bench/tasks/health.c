// Hospitals of a country as a tree: each has some smaller ones below it. In every step of time people fall
// ill, wait, are examined, and either recover or are sent to the hospital above. A task per hospital and
// step; the one above takes over the patients when all below it have ended. Usage: health [levels] [steps].

#include "../apps/nas.h"

enum { below = 4, staff = 3, examination = 3 };

struct patient {
  struct patient* next;
  uint64_t state;
  int left;  // steps of its examination
  int steps, hospitals;
};

struct list {
  struct patient *first, **end;
};

struct hospital {
  struct hospital* children[below];
  struct list waiting, examined, sent;
  int level, free_staff;
  uint64_t state;
};

struct totals {
  int64_t ill, recovered, steps, hospitals;
};

static void make_empty(struct list* list) {
  list->first = NULL;
  list->end = &list->first;
}

static void append(struct list* list, struct patient* patient) {
  patient->next = NULL;
  *list->end = patient;
  list->end = &patient->next;
}

static struct patient* take_first(struct list* list) {
  struct patient* patient = list->first;
  if (patient == NULL) return NULL;
  list->first = patient->next;
  if (list->first == NULL) list->end = &list->first;
  return patient;
}

static struct hospital* build(int level, uint64_t* seeds) {
  struct hospital* hospital = nas_allocate(1, sizeof *hospital);
  *hospital = (struct hospital){.level = level, .free_staff = staff << level};
  nas_random(seeds);
  hospital->state = *seeds;
  make_empty(&hospital->waiting);
  make_empty(&hospital->examined);
  make_empty(&hospital->sent);
  for (int i = 0; i < below && level > 0; ++i) hospital->children[i] = build(level - 1, seeds);
  return hospital;
}

static void end_examination(struct hospital* hospital, struct patient* patient, int is_root,
                            struct totals* totals) {
  ++hospital->free_staff;
  if (!is_root && nas_random(&patient->state) < 0.3) {
    ++patient->hospitals;
    append(&hospital->sent, patient);
    return;
  }
  ++totals->recovered;
  totals->steps += patient->steps;
  totals->hospitals += patient->hospitals;
  free(patient);
}

static void examine(struct hospital* hospital, int is_root, struct totals* totals) {
  struct list still;
  make_empty(&still);
  for (struct patient* patient; (patient = take_first(&hospital->examined)) != NULL;) {
    ++patient->steps;
    if (--patient->left > 0) {
      append(&still, patient);
    } else {
      end_examination(hospital, patient, is_root, totals);
    }
  }
  hospital->examined = still;
  if (still.first == NULL) make_empty(&hospital->examined);
  for (struct patient* patient = hospital->waiting.first; patient != NULL; patient = patient->next)
    ++patient->steps;
  while (hospital->free_staff > 0 && hospital->waiting.first != NULL) {
    struct patient* patient = take_first(&hospital->waiting);
    patient->left = examination;
    --hospital->free_staff;
    append(&hospital->examined, patient);
  }
}

// A step of this hospital and all below it.
static void step(struct hospital* hospital, int is_root, struct totals* totals) {
  struct totals of_children[below] = {{0, 0, 0, 0}};
  if (hospital->level > 0) {
    for (int i = 0; i < below; ++i) {
      struct hospital* child = hospital->children[i];
#pragma omp task shared(of_children) firstprivate(child, i)
      step(child, 0, &of_children[i]);
    }
#pragma omp taskwait
    for (int i = 0; i < below; ++i) {
      for (struct patient* patient; (patient = take_first(&hospital->children[i]->sent)) != NULL;)
        append(&hospital->waiting, patient);
      totals->ill += of_children[i].ill;
      totals->recovered += of_children[i].recovered;
      totals->steps += of_children[i].steps;
      totals->hospitals += of_children[i].hospitals;
    }
  }
  examine(hospital, is_root, totals);
  if (nas_random(&hospital->state) < 0.7) {
    struct patient* patient = nas_allocate(1, sizeof *patient);
    *patient = (struct patient){.state = hospital->state, .hospitals = 1};
    append(&hospital->waiting, patient);
    ++totals->ill;
  }
}

static int count(const struct list* list) {
  int patients = 0;
  for (const struct patient* patient = list->first; patient != NULL; patient = patient->next) ++patients;
  return patients;
}

static int64_t unfinished(const struct hospital* hospital) {
  int64_t patients = count(&hospital->waiting) + count(&hospital->examined) + count(&hospital->sent);
  for (int i = 0; i < below && hospital->level > 0; ++i) patients += unfinished(hospital->children[i]);
  return patients;
}

int main(int argc, char** argv) {
  const int levels = argc > 1 ? atoi(argv[1]) : 6, steps = argc > 2 ? atoi(argv[2]) : 200;
  if (levels < 1 || levels > 10 || steps < 1) {
    fprintf(stderr, "usage: health [levels, 1 to 10] [steps]\n");
    return 2;
  }
  uint64_t seeds = NAS_SEED, same_seeds = NAS_SEED;
  struct hospital *root = build(levels - 1, &seeds), *same = build(levels - 1, &same_seeds);
  struct totals totals = {0, 0, 0, 0}, expected = {0, 0, 0, 0};
  const double start = omp_get_wtime();
#pragma omp parallel
#pragma omp single
  for (int i = 0; i < steps; ++i) step(root, 1, &totals);
  const double seconds = omp_get_wtime() - start;
  for (int i = 0; i < steps; ++i) step(same, 1, &expected);  // by one thread
  const int verified =
      memcmp(&totals, &expected, sizeof totals) == 0 && totals.ill == totals.recovered + unfinished(root);
  printf("health: %lld ill, %lld recovered, %d threads\n", (long long)totals.ill, (long long)totals.recovered,
         omp_get_max_threads());
  return nas_finish(verified, seconds, (double)totals.steps);
}
