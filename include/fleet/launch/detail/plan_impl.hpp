#pragma once
#include <sched.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include <fleet/core/error.hpp>
#include <fleet/launch/list_text.hpp>
#include <fleet/launch/plan.hpp>
#include <fleet/launch/program.hpp>
#include <fleet/net/token.hpp>

namespace fleet::launch {
namespace detail {

inline std::vector<std::string> device_list(std::string const& gpus) {
  auto devices = split_list(gpus, "--gpus");
  for (auto const& device : devices)
    if (device.find_first_not_of("0123456789") != std::string::npos)
      throw ConfigurationError(text("fleetrun: --gpus=\"", gpus, "\": \"", device, "\" is not the number of a device"));
  return devices;
}

/// The place of each device among the visible ones, which is how a program calls it; the number itself if all are.
inline std::vector<std::string> selected_devices(std::vector<std::string> const& devices,
                                                 Environment const& environment) {
  auto const visible = environment.get("CUDA_VISIBLE_DEVICES");
  if (!visible) return devices;
  auto const known = split_list(*visible, "CUDA_VISIBLE_DEVICES");
  std::vector<std::string> places;
  for (auto const& device : devices) {
    auto const found = std::find(known.begin(), known.end(), device);
    if (found == known.end())
      throw ConfigurationError(text("fleetrun: --gpus asks for device ", device,
                                    ", but CUDA_VISIBLE_DEVICES=", *visible, " hides it; correct one of the two"));
    places.push_back(text(found - known.begin()));
  }
  return places;
}

/// The `index`-th of the groups of `length` devices.
inline std::string group(std::vector<std::string> const& list, std::size_t index, std::size_t length) {
  return joined(std::span{list}.subspan(index * length, length), ",");
}

}  // namespace detail

FLEET_BODY int usable_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  return ::sched_getaffinity(0, sizeof cores, &cores) == 0 ? std::max(1, CPU_COUNT(&cores)) : 1;
}

FLEET_BODY Plan make_plan(Settings const& settings, Environment const& environment) {
  Plan plan;
  if (settings.command.empty())
    throw ConfigurationError(
        "fleetrun: no program is named; write it after the options: fleetrun --nproc_per_node=2 ./train");
  plan.command = settings.command;
  plan.program = find_program(plan.command.front(), environment);
  plan.log_dir = settings.log_dir;
  plan.hosts =
      find_hosts(settings.ips, settings.node_ip.empty() ? environment.get("POD_IP").value_or("") : settings.node_ip);
  bool const several = plan.hosts.several();

  std::vector<std::string> devices, selected;
  if (!settings.gpus.empty()) {
    devices = detail::device_list(settings.gpus);
    selected = detail::selected_devices(devices, environment);
  }
  int const local_size = settings.nproc_per_node.value_or(devices.empty() ? 1 : static_cast<int>(devices.size()));
  if (local_size < 1)
    throw ConfigurationError(
        text("fleetrun: --nproc_per_node=", local_size, ": at least 1 process is started on a host"));
  auto const local = static_cast<std::size_t>(local_size);
  if (devices.size() % local != 0)
    throw ConfigurationError(text("fleetrun: --gpus names ", devices.size(), " devices, which ", local_size,
                                  " processes (--nproc_per_node) cannot share out evenly"));
  if (settings.http_port < 0 || settings.http_port > 65535)
    throw ConfigurationError(
        text("fleetrun: --http_port=", settings.http_port, " is not a port; it is 1 to 65535, or 0 for any"));

  auto const token = environment.get(token_variable);
  if (several && !token)
    throw ConfigurationError(
        "fleetrun: a job on several hosts needs one secret that all of them hold; make it once, with\n"
        "  head -c 16 /dev/urandom | od -An -tx1 | tr -d ' \\n'\n"
        "and export it as FLEET_JOB_TOKEN on every host before fleetrun");
  plan.token = token ? *token : net::Token::make().secret();
  plan.store_port = settings.http_port != 0 || !several ? settings.http_port : Settings::default_port;

  for (char const* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT",
                           "TORCHELASTIC_USE_AGENT_STORE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                           "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", "SLURM_PROCID", "SLURM_LOCALID",
                           "FLEET_STORE_ENDPOINT", "PADDLE_PSERVERS_IP_PORT_LIST", "PADDLE_PORT"})
    if (environment.has(name)) plan.removed.emplace_back(name);

  auto const start_port = environment.integer("FLAGS_START_PORT").value_or(0);
  std::vector<std::string> endpoints;
  for (auto const& host : plan.hosts.all)
    for (int i = 0; i < local_size; ++i) endpoints.push_back(endpoint(host, start_port == 0 ? 0 : start_port + i));

  auto const world_size = local_size * static_cast<int>(plan.hosts.all.size());
  auto const job_id = environment.get("SYS_JOB_ID").value_or(several ? "fleet" : net::hex(net::random_bytes(4)));
  int const threads = std::max(1, usable_cores() / local_size);
  for (int i = 0; i < local_size; ++i) {
    ProcessSpec process;
    process.rank = static_cast<int>(plan.hosts.own) * local_size + i;
    process.label = text("rank ", process.rank);
    process.host = plan.hosts.own_address();
    process.log = text(settings.log_dir, "/workerlog.", process.rank);
    process.environment = {
        {"PADDLE_TRAINER_ID", text(process.rank)},
        {"PADDLE_TRAINERS_NUM", text(world_size)},
        {"PADDLE_TRAINER_ENDPOINTS", joined(endpoints, ",")},
        {"PADDLE_CURRENT_ENDPOINT", endpoints[static_cast<std::size_t>(process.rank)]},
        {"TRAINING_ROLE", "TRAINER"},
        {"PADDLE_TRAINING_ROLE", "TRAINER"},
        {"POD_IP", process.host},
        {store_variable, endpoint(plan.hosts.all.front(), plan.store_port)},
        {token_variable, plan.token},
        {"SYS_JOB_ID", job_id},
        {"FLEET_LOCAL_RANK", text(i)},
        {"FLEET_LOCAL_SIZE", text(local_size)},
        {"OMP_NUM_THREADS", environment.get("OMP_NUM_THREADS").value_or(text(threads))},
    };
    if (settings.timeout_seconds) process.environment.emplace_back("FLEET_TIMEOUT", text(*settings.timeout_seconds));
    if (!devices.empty()) {
      auto const each = devices.size() / local;
      process.environment.emplace_back("CUDA_VISIBLE_DEVICES",
                                       detail::group(devices, static_cast<std::size_t>(i), each));
      process.environment.emplace_back("FLAGS_selected_gpus",
                                       detail::group(selected, static_cast<std::size_t>(i), each));
    }
    plan.processes.push_back(std::move(process));
  }
  return plan;
}

}  // namespace fleet::launch
