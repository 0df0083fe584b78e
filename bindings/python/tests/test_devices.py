"""Devices, claims and volumes."""

import pytest

import gangsched as gs


def node(name, *gpus, **more):
    inside = gs.NodeDevices(model="NVIDIA-A100-SXM4-40GB", memory_mib=40960, gpus=gpus, **more)
    return gs.Node(name, cpu=8, devices=inside)


def test_gpus_are_handed_out_as_a_whole_as_shares_and_as_instances():
    cluster = gs.Cluster()
    cluster.add_node(node("n", gs.GPUDevice("G0", numa=0), gs.GPUDevice("G1", mig="dynamic"), gs.GPUDevice("G2", healthy=False)))
    share = cluster.add_pod(gs.Pod("share", devices=[gs.DeviceRequest(milli=300)]))
    cluster.add_pod(gs.Pod("instance", devices=[gs.DeviceRequest(mig_profile="1g.5gb")]))
    cluster.add_pod(gs.Pod("whole", devices=[gs.DeviceRequest()]))
    scheduler = gs.Scheduler(cluster)
    assert [(d.pod_name, d.kind) for d in scheduler.run(0)] == [("share", "bind"), ("instance", "bind"), ("whole", "reject")]
    assert cluster.devices_of("share") == ["G0"] and cluster.devices_of("instance") == ["G1"]
    assert cluster.set_device_health("n", "G2", True) == []
    assert scheduler.run(60).count() == {"bind": 1}
    assert cluster.devices_of("whole") == ["G2"]
    assert cluster.set_device_health("n", "G0", False) == [share]


def cards():
    return [
        gs.Device(f"card-{i}", "gpu.example.com", attributes={"gpu.example.com/model": model, "gpu.example.com/cores": 4 * i, "gpu.example.com/ok": True})
        for i, model in enumerate(["small", "large"])
    ]


@pytest.mark.parametrize(
    "request_",
    [
        gs.DeviceRequest("", cel=['device.driver == "gpu.example.com"', 'device.attributes["gpu.example.com"].model == "large"']),
        gs.DeviceRequest("gpu.example.com", selectors=[("gpu.example.com/cores", ">=", [4]), ("gpu.example.com/ok", "==", [True])]),
        gs.DeviceRequest(first_of=[gs.DeviceRequest("gpu.example.com", selectors=[("gpu.example.com/model", "in", ["huge", "large"])])]),
    ],
)
def test_claims_are_shared(request_):
    cluster = gs.Cluster()
    cluster.add_node(gs.Node("n", cpu=8, devices=gs.NodeDevices(others=cards())))
    claim = cluster.add_resource_claim(gs.ResourceClaim("c", devices=[request_], most_pods=2))
    for name, by in (("p", claim), ("q", "c"), ("r", "default/c")):
        cluster.add_pod(gs.Pod(name, resource_claims=[by]))
    scheduler = gs.Scheduler(cluster)
    assert scheduler.run(0).count() == {"bind": 2, "reject": 1}
    assert cluster.claim_devices("c") == ["card-1"] and cluster.devices_of("p") == []
    assert cluster.claim_alternative("c", 0) == (0 if request_.first_of else None)
    assert cluster.alternative_of("p", 0) is None
    assert cluster.claim_node(claim) == cluster.find_node("n")
    for ask in (cluster.remove_resource_claim, cluster.deallocate):
        with pytest.raises(gs.Error) as refused:
            ask(claim)
        assert refused.value.code == "wrong_state"
    for name in ("p", "q", "r"):
        cluster.remove_pod(name)
    cluster.remove_resource_claim("c")
    assert cluster.find_resource_claim("c") is None


def test_constraints_capacities_and_links():
    cluster = gs.Cluster()
    same = [gs.Device(f"nic-{i}", "nic", attributes={"nic/rail": f"rail-{i % 2}"}) for i in range(4)]
    wire = gs.Device("wire", "wire", shared=True, capacities={"wire/gbps": gs.Capacity(100, standard=10, least=10, step=10)})
    links = [(12 if row != column and row // 2 == column // 2 else 0, "node") for row in range(4) for column in range(4)]
    cluster.add_node(node("n", *(gs.GPUDevice(f"G{i}") for i in range(4)), others=[*same, wire], links=links))
    cluster.add_pod(gs.Pod("one", devices=[gs.DeviceRequest()]))
    cluster.add_pod(gs.Pod("pair", devices=[gs.DeviceRequest(count=2, within="nvlink")]))
    rails = [gs.DeviceRequest("nic"), gs.DeviceRequest("nic")]
    cluster.add_pod(gs.Pod("rails", devices=rails, device_constraints=[gs.DeviceConstraint("nic/rail")]))
    for i in range(3):
        cluster.add_pod(gs.Pod(f"fast-{i}", devices=[gs.DeviceRequest("wire", capacities={"wire/gbps": 35})]))
    assert gs.Scheduler(cluster).run(0).count() == {"bind": 5, "reject": 1}
    pair = [int(name[1]) // 2 for name in cluster.devices_of("pair")]
    assert pair[0] == pair[1] != int(cluster.devices_of("one")[0][1]) // 2
    assert len({int(name[-1]) % 2 for name in cluster.devices_of("rails")}) == 1


def test_volumes_say_where_a_pod_can_be():
    cluster, zone = gs.Cluster(), "topology.kubernetes.io/zone"
    for name in ("node-a", "node-b"):
        cluster.add_node(gs.Node(name, cpu=8, labels={zone: name[-1]}))
    cluster.add_pod(gs.Pod("p", volumes=gs.Volumes(nodes=["node-b"], exclusive_claims=["once"])))
    cluster.add_pod(gs.Pod("q", volumes=gs.Volumes(exclusive_claims=["once"])))
    cluster.add_pod(gs.Pod("r", volumes=gs.Volumes(zones={zone: ["c"]})))
    cluster.add_pod(gs.Pod("s", volumes=gs.Volumes(unbound_claims=True)))
    cluster.add_pod(gs.Pod("t", volumes=gs.Volumes(disks={"d": True}, attachments=[("csi.example.com", "v")])))
    cluster.add_pod(gs.Pod("u", volumes=gs.Volumes(bindable_nodes=["node-a"])))
    cluster.add_pod(gs.Pod("v", volumes=gs.Volumes(claim_problem='persistentvolumeclaim "d" not found')))
    decided = {d.pod_name: (d.kind, d.node_name) for d in gs.Scheduler(cluster).run(0)}
    assert decided["p"] == ("bind", "node-b") and decided["t"][0] == "bind" and decided["u"] == ("bind", "node-a")
    assert [decided[name][0] for name in "qrsv"] == ["reject"] * 4


def two_cells(**more):
    """A node with two cells of two cores of two threads each."""
    cells = [
        gs.NUMACell(cell, [(4 * cell + i, 2 * cell + i // 2, cell, cell) for i in range(4)], 8 << 30, distances=[10 + 10 * cell, 20 - 10 * cell])
        for cell in range(2)
    ]
    return gs.Node("n", cpu=8, memory="16Gi", devices=gs.NodeDevices(numa=gs.NUMA(cells, **more)))


def guaranteed(name, cpus):
    return {
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": cpus, "memory": "1Gi"}}}]},
    }


@pytest.mark.parametrize(("policy", "first", "second"), [("none", "bind", "reject"), ("single-numa-node", "reject", "bind")])
def test_pods_stay_in_one_cell(policy, first, second):
    cluster = gs.Cluster()
    cluster.add_node(two_cells(policy=policy, scope="pod", static_cpus=True, reserved_cpus=[0]))
    cluster.add_pod(guaranteed("five", 5))  # of three and four that are not the system's
    cluster.add_pod(gs.Pod("four", cpu=4, memory="1Gi", guaranteed=True))
    assert [d.kind for d in gs.Scheduler(cluster).run(0)] == [first, second]


def test_cpus_are_bound():
    cluster = gs.Cluster()
    cluster.add_node(two_cells(cells_first="most"))
    cluster.add_pod(gs.Pod("bound", cpu="1500m", cpu_bind="full_cores", cpu_bind_required=True))  # no whole number of CPUs can be
    cluster.add_pod(gs.Pod("free", cpu="1500m"))
    assert {d.pod_name: d.kind for d in gs.Scheduler(cluster).run(0)} == {"bound": "reject", "free": "bind"}


def test_what_is_told_of_numa_is_the_clusters():
    def digest(more, change=lambda cells: None, **pod):
        cluster, spec = gs.Cluster(), two_cells(**more)
        change(spec.devices.numa.cells)
        cluster.add_node(spec)
        cluster.add_pod(gs.Pod("p", cpu=1, **pod))
        return cluster.digest()

    def cache(cells):
        cells[1].cpus = [cpu[:3] if cpu[0] < 6 else (*cpu[:3], 5) for cpu in cells[1].cpus]

    def far(cells):
        cells[0].distances, cells[1].distances = [10, 30], [30, 10]

    plain = {"static_cpus": True}
    ways = [digest(plain), digest({"static_cpus": False}), digest({**plain, "scope": "pod"})]
    ways += [digest({**plain, "policy": policy}) for policy in ("best-effort", "restricted")]
    flags = ["prefer_closest", "full_pcpus_only", "distribute_cpus_across_numa", "align_by_socket", "distribute_cpus_across_cores"]
    flags += ["strict_cpu_reservation", "prefer_align_cpus_by_uncorecache", "static_memory"]
    ways += [digest({**plain, flag: True}) for flag in flags]
    ways += [digest({**plain, "reserved_cpus": [0, 1]}), digest({**plain, "cpu_bind": "spread_by_cores"})]
    ways += [digest({**plain, "cells_first": "most"}), digest({**plain, "cpu_amplification_percent": 150})]
    ways += [digest(plain, cache), digest(plain, far)]
    ways += [digest(plain, lambda cells: setattr(cells[1], *what)) for what in (("id", 7), ("memory_bytes", 1), ("hugepages", {2 << 20: 64 << 20}))]
    bound = {"cpu_bind": "full_cores"}
    ways += [digest(plain, **bound), digest(plain, **bound, cpu_bind_required=True)]
    ways += [digest(plain, **bound, cpu_exclusive=apart) for apart in ("core", "cell")]
    assert len(set(ways)) == len(ways)


@pytest.mark.parametrize(("rule", "second"), [("mib", "reject"), ("as_asked", "bind")])
def test_shares_of_memory_by_the_nodes_rule(rule, second):
    cluster = gs.Cluster()
    cluster.add_node(gs.Node("n", cpu=8, devices=gs.NodeDevices(memory_mib=24576, gpus=[gs.GPUDevice("G0")], memory_rule=rule)))
    cluster.add_pod(gs.Pod("a", devices=[gs.DeviceRequest(milli=0, memory_mib=17408)]))  # 70.8 hundredths
    cluster.add_pod(gs.Pod("b", devices=[gs.DeviceRequest(milli=0, memory_percent=30)]))
    assert [(d.pod_name, d.kind) for d in gs.Scheduler(cluster).run(0)] == [("a", "bind"), ("b", second)]


def test_the_hosts_mig_table():
    profiles = [gs.MIGProfile("1g.9gb", 1, 1, range(4)), gs.MIGProfile("4g.36gb", 4, 4, [0], media="all", max_instances=1)]
    inside = gs.NodeDevices(model="Example X900", gpus=[gs.GPUDevice("G0", mig="dynamic")], mig_table=gs.MIGTable("X900", 4, 4, profiles))
    cluster = gs.Cluster()
    cluster.add_node(gs.Node("n", cpu=8, devices=inside))
    cluster.add_pod(gs.Pod("small", devices=[gs.DeviceRequest(mig_profile="1g.9gb")]))
    cluster.add_pod(gs.Pod("large", devices=[gs.DeviceRequest(mig_profile="4g.36gb")]))
    assert {d.pod_name: d.kind for d in gs.Scheduler(cluster).run(0)} == {"small": "bind", "large": "reject"}
    assert cluster.devices_of("small") == ["G0"]
    profiles[1].name = "1g.9gb"
    with pytest.raises(gs.Error) as refused:
        cluster.add_node(gs.Node("m", devices=inside))
    assert refused.value.field == "mig_table" and refused.value.object == "node m"


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        (two_cells(policy="strict"), "policy"),
        (two_cells(scope="node"), "scope"),
        (two_cells(cpu_bind="FullPCPUs"), "cpu_bind"),
        (two_cells(cells_first="any"), "cells_first"),
        (two_cells(reserved_cpus=[-1]), "reserved_cpus"),
        (gs.Node("n", devices=gs.NodeDevices(memory_rule="bytes")), "memory_rule"),
        (gs.Node("n", devices=gs.NodeDevices(numa=gs.NUMA([gs.NUMACell(0, [(0, 0)])]))), "cpus"),  # type: ignore[list-item]
        (gs.Node("n", devices=gs.NodeDevices(mig_table=gs.MIGTable("X", 4, 4, [gs.MIGProfile("1g", 1, 1, [8])]))), "starts"),
        (gs.Node("n", devices=gs.NodeDevices(mig_table=gs.MIGTable("X", 4, 4, [gs.MIGProfile("1g", 1, 1, [0], media="some")]))), "media"),
    ],
)
def test_what_is_wrong_with_cells_and_tables_is_said_by_field(wrong, field):
    cluster = gs.Cluster()
    with pytest.raises(gs.Error) as refused:
        cluster.add_node(wrong)
    assert refused.value.field == field
    with pytest.raises(gs.Error) as refused:
        cluster.add_pod(gs.Pod("p", cpu_exclusive="socket"))
    assert refused.value.field == "cpu_exclusive"


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        (gs.DeviceRequest("", cel=['device.attributes["x"].y.matches("z")']), "cel"),
        (gs.DeviceRequest(""), "device_class"),
        (gs.DeviceRequest(within="rack"), "within"),
        (gs.DeviceRequest("nic", selectors=[("nic/rail", "~", ["x"])]), "selectors"),
        (gs.DeviceRequest("nic", selectors=[("nic/rail", "==", [1.5])]), "selectors"),
        (gs.DeviceRequest(first_of=[gs.DeviceRequest(first_of=[gs.DeviceRequest()])]), "first_of"),
        (gs.DeviceRequest(count="two"), "count"),  # type: ignore[arg-type]
    ],
)
def test_what_is_wrong_is_said_by_field(cluster, request_, why):
    before = cluster.digest()
    with pytest.raises(gs.Error) as refused:
        cluster.add_pod(gs.Pod("p", devices=[request_]))
    assert refused.value.code == "malformed" and refused.value.field == why
    with pytest.raises(gs.Error) as refused:
        cluster.add_pod(gs.Pod("p", resource_claims=["nothing"]))
    assert refused.value.code == "unknown"
    with pytest.raises(gs.Error) as refused:
        cluster.add_node(gs.Node("x", gpu_devices=1, devices=gs.NodeDevices()))
    assert refused.value.field == "devices"
    assert cluster.digest() == before
