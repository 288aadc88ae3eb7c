# For sos: as /usr/lib/python3/dist-packages/sos/report/plugins/plegdiag.py (Debian) or below site-packages (Red Hat), then
# sos report -e plegdiag. It is off by default, because it asks the runtime. analyze reads the bundle inside of the sosreport.

from sos.report.plugins import Plugin, IndependentPlugin, PluginOpt


class Plegdiag(Plugin, IndependentPlugin):

    short_desc = 'Why the container runtime hangs (plegdiag collect)'
    plugin_name = 'plegdiag'
    profiles = ('container', 'kubernetes')
    commands = ('plegdiag',)
    default_enabled = False
    plugin_timeout = 240
    option_list = [
        PluginOpt('time', default=120, desc='seconds after which it ends'),
    ]

    def setup(self):
        bundle = self.get_cmd_output_path(name='node.tgz', make=False)
        self.add_cmd_output(
            f"plegdiag collect --timeout {self.get_option('time')}s -o {bundle}",
            timeout=int(self.get_option('time')) + 10,
        )
