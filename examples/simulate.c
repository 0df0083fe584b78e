/* What would kube-scheduler do with the files that are named, or with two pods on a node? Says it in JSON, as gangsched-simulate does. */
#include <gangsched/c/gangsched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define POD(name, cpu)                                      \
  "---\n{apiVersion: v1, kind: Pod, metadata: {name: " name \
  "}, "                                                     \
  "spec: {containers: [{name: c, resources: {requests: {cpu: " cpu "}}}]}}\n"
static const char sample[] =
    "{apiVersion: v1, kind: Node, metadata: {name: node-a}, status: {allocatable: {cpu: 4, pods: 110}}}\n" POD(
        "small", "1") POD("large", "4");

/* Whether all of it is there; what is to be freed is in `made` in any case. */
static bool read_file(const char* name, gangsched_source* made) {
  size_t room = 1 << 16;
  char* text = malloc(room);
  *made = (gangsched_source){name, text, 0};
  FILE* const from = fopen(name, "rb");
  bool fine = from != NULL && text != NULL;
  while (fine) {
    made->size += fread(text + made->size, 1, room - made->size, from);
    if (made->size < room) break;
    char* const more = realloc(text, room *= 2);
    if (more != NULL) made->text = text = more;
    fine = more != NULL;
  }
  fine = fine && ferror(from) == 0;
  if (from != NULL) fclose(from);
  if (!fine) fprintf(stderr, "%s: cannot be read\n", name);
  return fine;
}

int main(int count, char** names) {
  const size_t named = count > 1 ? (size_t)count - 1 : 0;
  const gangsched_source own = {"sample.yaml", sample, sizeof sample - 1};
  gangsched_source* const files = calloc(named + 1, sizeof *files);
  gangsched_error* error = gangsched_error_create();
  bool fine = files != NULL;
  for (size_t i = 0; i < named && fine; ++i) fine = read_file(names[i + 1], &files[i]);
  if (fine) {
    const gangsched_simulation_options options = {.struct_size = sizeof options, .seed = 0};
    char *json = NULL, *warnings = NULL;
    fine = gangsched_simulate(named > 0 ? files : &own, named > 0 ? named : 1, &options, &json, &warnings, error) ==
           GANGSCHED_OK;
    if (json != NULL) fputs(json, stdout);
    if (warnings != NULL) fputs(warnings, stderr);
    if (!fine) fprintf(stderr, "%s\n", gangsched_error_message(error));
    gangsched_free(json);
    gangsched_free(warnings);
  }
  for (size_t i = 0; files != NULL && i < named; ++i) free((void*)files[i].text);
  free(files);
  gangsched_error_destroy(error);
  return fine ? 0 : 1;
}
