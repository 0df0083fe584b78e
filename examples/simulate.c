/* What would kube-scheduler do with the files that are named, or with two pods on a node? Says it in JSON, as gangsched-simulate does. */
#include <gangsched/c/gangsched.h>
#include <stdio.h>
#include <stdlib.h>

#define POD(name, cpu)                                      \
  "---\n{apiVersion: v1, kind: Pod, metadata: {name: " name \
  "}, "                                                     \
  "spec: {containers: [{name: c, resources: {requests: {cpu: " cpu "}}}]}}\n"
static const char sample[] =
    "{apiVersion: v1, kind: Node, metadata: {name: node-a}, status: {allocatable: {cpu: 4, pods: 110}}}\n" POD(
        "small", "1") POD("large", "4");

static gangsched_source read_file(const char* name) {
  gangsched_source made = {name, NULL, 0};
  FILE* const from = fopen(name, "rb");
  char* const text = malloc(1 << 20);
  if (from != NULL && text != NULL) made.size = fread(text, 1, 1 << 20, from);
  if (from != NULL) fclose(from);
  made.text = text;
  return made;
}

int main(int count, char** names) {
  gangsched_error* error = gangsched_error_create();
  const gangsched_simulation_options options = {.struct_size = sizeof options, .seed = 0};
  gangsched_source files[16] = {{"sample.yaml", sample, sizeof sample - 1}};
  const size_t named = count > 1 ? (size_t)count - 1 : 0;
  for (size_t i = 0; i < named && i < 16; ++i) files[i] = read_file(names[i + 1]);
  char *json = NULL, *warnings = NULL;
  const gangsched_code code = gangsched_simulate(files, named > 0 ? named : 1, &options, &json, &warnings, error);
  if (json != NULL) fputs(json, stdout);
  if (warnings != NULL) fputs(warnings, stderr);
  if (code != GANGSCHED_OK) fprintf(stderr, "%s\n", gangsched_error_message(error));
  for (size_t i = 0; i < named && i < 16; ++i) free((void*)files[i].text);
  gangsched_free(json);
  gangsched_free(warnings);
  gangsched_error_destroy(error);
  return code == GANGSCHED_OK ? 0 : 1;
}
