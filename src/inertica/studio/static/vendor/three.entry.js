export {
  AmbientLight, AxesHelper, Box3, BoxGeometry, BufferAttribute, BufferGeometry, CapsuleGeometry, Color, CylinderGeometry, DirectionalLight,
  DoubleSide, EdgesGeometry, GridHelper, Group, HemisphereLight, LineBasicMaterial, LineSegments, Matrix3, Matrix4, Mesh, MeshBasicMaterial,
  MeshStandardMaterial, PerspectiveCamera, Quaternion, Raycaster, Scene, SphereGeometry, Vector2, Vector3, WebGLRenderer,
} from "three";
export { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
export { STLLoader } from "three/examples/jsm/loaders/STLLoader.js";
export { OBJLoader } from "three/examples/jsm/loaders/OBJLoader.js";
export { ColladaLoader } from "three/examples/jsm/loaders/ColladaLoader.js";
