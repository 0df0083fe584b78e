#include "simulate/options.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <gangsched/version.hpp>
#include <map>

#define GANGSCHED_TEXT_OF(x) #x
#define GANGSCHED_TEXT(x) GANGSCHED_TEXT_OF(x)

namespace simulate {
namespace {

constexpr const char* version = "gangsched-simulate " GANGSCHED_TEXT(GANGSCHED_VERSION_MAJOR) "." GANGSCHED_TEXT(
    GANGSCHED_VERSION_MINOR) "." GANGSCHED_TEXT(GANGSCHED_VERSION_PATCH);

constexpr const char* about =
    R"(Reads Kubernetes manifests, schedules their pods as kube-scheduler would, in virtual time, and says who goes where, who is
evicted for it, and why somebody does not fit. No cluster, nothing is changed.)";

constexpr const char* more =
    R"(Examples
  gangsched-simulate cluster.yaml workload.yaml
  gangsched-simulate cluster.yaml workload.yaml --explain web-0
  gangsched-simulate cluster.yaml workload.yaml --explain train
  gangsched-simulate cluster.yaml workload.yaml --config scheduler.yaml --output json
  gangsched-simulate cluster.yaml workload.yaml --lose zone-a --diff before.json
  gangsched-simulate cluster.yaml workload.yaml --scale-up shapes.yaml
  kubectl get nodes,pods,priorityclasses -A -o yaml | gangsched-simulate - new-deployment.yaml

Exit codes: 0 every pod was placed; 1 some pod was not; 2 a mistake in the command line or in a file (file:line: object: field:
reason), nothing was scheduled; 3 the simulator failed.)";

}  // namespace

parsed parse(int argc, char** argv) {
  parsed result;
  command_line& to = result.options;
  CLI::App app{about, "gangsched-simulate"};
  app.footer(more);
  app.get_formatter()->column_width(28);
  app.set_version_flag("--version", version, "Print the version and exit");

  app.add_option("FILE,-f,--filename", to.files, "Manifests, YAML or JSON; - is standard input; of a folder all in it")
      ->required()
      ->type_name("FILE");
  app.add_flag("-R,--recursive", to.recursive, "Of folders also what is in those below");
  app.add_option("-n,--namespace", to.run.ns, "Of objects that name none [default]")->type_name("NAMESPACE");
  app.add_flag("--keep-going", to.run.keep_going, "Leave out objects with mistakes");
  app.add_flag("--all-schedulers", to.run.all_schedulers,
               "Pods of schedulers that have no profile go by the first profile");
  app.add_option("--config", to.config, "KubeSchedulerConfiguration [kube-scheduler's defaults]")->type_name("FILE");
  app.add_option("--explain", to.run.explain,
                 "What every node says to this pod, or what this group lacks where, instead of the table: name or "
                 "namespace/name")
      ->type_name("POD|GROUP");
  app.add_option("--top", to.top, "Nodes that --explain tells of one by one; of more those alike are one line")
      ->type_name("N")
      ->capture_default_str();
  const std::map<std::string, format> formats{{"table", format::table}, {"json", format::json}, {"yaml", format::yaml}};
  app.add_option("-o,--output", to.output, "Format of the result [table]")
      ->type_name("table|json|yaml")
      ->transform(CLI::CheckedTransformer(formats).description(""));
  app.add_flag("--all", to.what.all, "Also list pods that ran before and still do");
  CLI::Option* const gpus = app.add_flag("--gpus", to.what.gpus, "Also draw how full each GPU is in the end");
  app.add_flag("--ascii", to.ascii, "Draw with ASCII only")->needs(gpus);
  app.add_flag("--queues", to.what.queues, "Also draw the tree of queues: guarantee, limit, used, borrowed, waiting");
  app.add_option("--queues-policy", to.run.queues_policy,
                 "Plugin that decides about queues, first in every profile; or none [FairShare, if there are queues]")
      ->type_name("PLUGIN");
  app.add_flag("--timeline", to.what.timeline, "JSON and YAML: also who had which node when, and why pods waited");
  app.add_option("--report", to.report, "Also write a page there that shows the run: HTML, by itself")
      ->type_name("FILE");
  app.add_option("--metrics", to.metrics, "Also write kube-scheduler's metrics there, as Prometheus' text")
      ->type_name("FILE");
  app.add_option("--trace", to.trace, "Also write there where the time went, for ui.perfetto.dev")->type_name("FILE");
  app.add_option("--log", to.log, "Also write every call there, for gangsched-replay-log")->type_name("FILE");
  app.add_option(
         "--arrivals", to.arrivals,
         "When pods come and how long they run: CSV with name (of a pod, controller or group), arrival_s, duration_s")
      ->type_name("FILE");
  const std::map<std::string, bool> lives{{"once", false}, {"live", true}};
  app.add_option("--controllers", to.run.live_controllers,
                 "Controllers act before the start; or all the time: who is evicted is made again, CronJobs and "
                 "HorizontalPodAutoscalers go on [once]")
      ->type_name("once|live")
      ->transform(CLI::CheckedTransformer(lives).description(""));
  app.add_option("--start", to.run.start, "With live controllers: what time it is at the start, RFC 3339 [1970]")
      ->type_name("TIME");
  app.add_option("--until", to.run.until, "With live controllers: how long CronJobs make runs [24h]")
      ->type_name("DURATION");
  app.add_option("--most-made-pods", to.run.most_made_pods,
                 "With live controllers: how many pods they make while time passes; then they make no more")
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--drain", to.run.drain, "What if: this node is drained before; its pods look for another one")
      ->type_name("NODE")
      ->allow_extra_args(false);
  app.add_option("--lose", to.run.lose,
                 "What if: this node, or this zone, is gone, and what ran there looks for another node")
      ->type_name("NODE|ZONE")
      ->allow_extra_args(false);
  app.add_option("--scale-up", to.shapes, "Also which nodes, of those in this file, would make the rest fit")
      ->type_name("FILE");
  app.add_flag("--scale-down", to.run.scale_down, "Also which nodes can be drained in the end");
  app.add_option("--diff", to.compare_with, "Also what is otherwise than in that result of an earlier run (JSON)")
      ->type_name("FILE");
  app.add_flag("--no-grace", to.no_grace, "Evicted pods are gone at once");
  app.add_option("--seed", to.run.seed, "Of draws between equally good nodes")->type_name("N")->capture_default_str();

  try {
    app.parse(argc, argv);
    if (std::ranges::count(to.files, "-") > 1) throw CLI::ValidationError{"FILE", "standard input can be read once"};
  } catch (const CLI::ParseError& failure) {
    result.exit_code = app.exit(failure) == 0 ? 0 : 2;
  }
  return result;
}

}  // namespace simulate
