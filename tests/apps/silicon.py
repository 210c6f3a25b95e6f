"""Input of quantum-espresso's pw.x: two atoms of silicon, a pseudopotential of Goedecker, Teter and Hutter made from their
formula (Physical Review B 54, 1703, table I), few plane waves: seconds, and all the steps of a real calculation."""

import math

RADIAL_POINTS = 601
VALENCE = 4
LOCAL_RADIUS, LOCAL_FACTOR = 0.44, -7.336103  # bohr, hartree
PROJECTORS = ((0, 1, 0.422738), (0, 2, 0.422738), (1, 1, 0.484278))  # angular momentum, which of it, radius in bohr
STRENGTHS = (5.906928, -1.261894, 0, -1.261894, 3.258196, 0, 0, 0, 2.727013)  # of each pair, in hartree
RYDBERG = 2.0  # in a hartree

INPUT = """&control
  calculation = 'scf', prefix = 'si', outdir = './out', pseudo_dir = './', tprnfor = .true., tstress = .true., disk_io = 'low'
/
&system
  ibrav = 2, celldm(1) = 10.2, nat = 2, ntyp = 1, ecutwfc = 12.0, nbnd = 6
/
&electrons
  startingwfc = 'random', conv_thr = 1.0d-8
/
ATOMIC_SPECIES
 Si 28.086 si.upf
ATOMIC_POSITIONS alat
 Si 0.00 0.00 0.00
 Si 0.26 0.25 0.25
K_POINTS automatic
 2 2 2 1 1 1
"""


def local(r):
    x = r / LOCAL_RADIUS
    coulomb = -VALENCE / r * math.erf(x / math.sqrt(2)) if r > 1e-8 else -VALENCE / LOCAL_RADIUS * math.sqrt(2 / math.pi)
    return RYDBERG * (coulomb + math.exp(-0.5 * x * x) * LOCAL_FACTOR)


def projector(r, momentum, which, radius):
    """r times the projector, of norm one."""
    power = momentum + (4 * which - 1) / 2
    return (r * math.sqrt(2) * r ** (momentum + 2 * (which - 1)) * math.exp(-0.5 * (r / radius) ** 2)
            / (radius ** power * math.sqrt(math.gamma(power))))


def charge(r):
    """A guess to begin with: one Gaussian."""
    return VALENCE * 4 * math.pi * r * r * (0.4 / math.pi) ** 1.5 * math.exp(-0.4 * r * r)


def section(name, values, **attributes):
    described = "".join(f' {key}="{value}"' for key, value in attributes.items())
    rows = [values[begin:begin + 4] for begin in range(0, len(values), 4)]
    lines = "\n".join(" ".join(f"{value:.12E}" for value in row) for row in rows)
    return f'<{name} type="real" size="{len(values)}" columns="4"{described}>\n{lines}\n</{name}>\n'


def pseudopotential():
    step = 0.0175
    radii = [step * point for point in range(RADIAL_POINTS)]
    header = dict(
        generated="from its formula", author="", date="", comment="", element="Si", pseudo_type="NC", relativistic="no",
        is_ultrasoft="F", is_paw="F", is_coulomb="F", has_so="F", has_wfc="F", has_gipaw="F", paw_as_gipaw="F",
        core_correction="F", functional="PZ", z_valence=float(VALENCE), total_psenergy=0.0, wfc_cutoff=0.0, rho_cutoff=0.0,
        l_max=1, l_max_rho=0, l_local=-3, mesh_size=RADIAL_POINTS, number_of_wfc=0, number_of_proj=len(PROJECTORS))
    text = '<UPF version="2.0.1">\n<PP_INFO>\n</PP_INFO>\n<PP_HEADER '
    text += " ".join(f'{key}="{value}"' for key, value in header.items()) + "/>\n"
    text += f'<PP_MESH mesh="{RADIAL_POINTS}" dx="{step}" xmin="0.0" rmax="{radii[-1]}" zmesh="14.0">\n'
    text += section("PP_R", radii, mesh=RADIAL_POINTS) + section("PP_RAB", [step] * RADIAL_POINTS, mesh=RADIAL_POINTS)
    text += "</PP_MESH>\n" + section("PP_LOCAL", [local(r) for r in radii]) + "<PP_NONLOCAL>\n"
    for index, (momentum, which, radius) in enumerate(PROJECTORS, 1):
        text += section(f"PP_BETA.{index}", [projector(r, momentum, which, radius) for r in radii], index=index,
                        angular_momentum=momentum, cutoff_radius_index=RADIAL_POINTS, cutoff_radius=radii[-1])
    text += section("PP_DIJ", [RYDBERG * strength for strength in STRENGTHS]) + "</PP_NONLOCAL>\n<PP_PSWFC>\n</PP_PSWFC>\n"
    return text + section("PP_RHOATOM", [charge(r) for r in radii]) + "</UPF>\n"


def write(directory):
    (directory / "si.upf").write_text(pseudopotential())
    (directory / "si.in").write_text(INPUT)
