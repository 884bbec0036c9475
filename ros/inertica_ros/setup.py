from setuptools import setup

setup(
    name="inertica_ros",
    version="0.2.0",
    packages=["inertica_ros"],
    data_files=[
        ("share/ament_index/resource_index/packages", ["resource/inertica_ros"]),
        ("share/inertica_ros", ["package.xml"]),
    ],
    install_requires=["setuptools", "inertica"],
    zip_safe=True,
    maintainer="The inertica developers",
    maintainer_email="maintainers@inertica.invalid",
    description="Plays an exciting trajectory, records what the robot does, and identifies its dynamic parameters with inertica.",
    license="Apache-2.0",
    entry_points={
        "console_scripts": [
            "play = inertica_ros.play:main",
            "record = inertica_ros.record:main",
            "identify = inertica_ros.identify:main",
        ]
    },
)
